// The processes of a node as lines for a terminal. Pure. What a node says is shown, whatever version it has: a column it
// does not know stays empty.

interface Row {
  readonly [column: string]: unknown;
}

const COLUMNS: readonly (readonly [string, (row: Row) => string])[] = [
  ['ID', (row) => text(row.id)],
  ['TENANT', (row) => text(row.tenant)],
  ['SERVER', (row) => text(row.server)],
  ['ERA', (row) => text(row.era)],
  ['STATE', (row) => (row.retiring === null ? text(row.state) : `${text(row.state)}, leaving`)],
  ['AGE', (row) => duration(row.ageMs)],
  ['IDLE', (row) => duration(row.idleMs)],
  ['USES', (row) => text(row.uses)],
  ['LEASES', (row) => text(row.leases)],
  ['MEMORY', (row) => megabytes(row.memoryBytes)],
  [
    'CPU',
    (row) => (typeof row.cpuPercent === 'number' ? `${row.cpuPercent}%${row.spinning === true ? ' spins' : ''}` : ''),
  ],
  ['PID', (row) => text(row.pid)],
];

export function processTable(rows: readonly Row[]): string {
  const cells = [COLUMNS.map(([name]) => name), ...rows.map((row) => COLUMNS.map(([, show]) => show(row)))];
  const widths = COLUMNS.map((_column, i) => Math.max(...cells.map((line) => line[i]!.length)));
  return cells
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Names come from a configuration, but a terminal obeys what it is sent. */
function text(value: unknown): string {
  return value === null || value === undefined ? '' : String(value).replace(/[^\x20-\x7e]/g, '?');
}

function megabytes(bytes: unknown): string {
  return typeof bytes === 'number' ? `${Math.round(bytes / 1024 / 1024)} MB` : '';
}

function duration(ms: unknown): string {
  if (typeof ms !== 'number') return '';
  const seconds = Math.floor(ms / 1000);
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3600)}h`;
}
