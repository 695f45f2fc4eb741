// Reads the `mcpServers` JSON of desktop clients (and the `servers` of VS Code, which is like it). What is not ours to
// run, or not known, becomes a note in words; nothing is silently dropped.

export interface DesktopServer {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface DesktopFile {
  readonly servers: readonly DesktopServer[];
  readonly notes: readonly string[];
}

const KNOWN = new Set(['command', 'args', 'env', 'cwd', 'type', 'transport', 'disabled', 'url', 'serverUrl']);
const STDIO = new Set([undefined, 'stdio']);

/** Throws an Error whose message is for the operator when the text is no such file. */
export function readDesktopFile(text: string): DesktopFile {
  const notes: string[] = [];
  const entries = Object.entries(entriesOf(parse(text)));
  const servers = entries.flatMap(([name, entry]) => readServer(name, entry, notes) ?? []);
  return { servers, notes };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new Error('the file is not JSON (comments and trailing commas are not JSON: take them out)');
  }
}

function entriesOf(data: unknown): Record<string, unknown> {
  const map = isMap(data) ? (data.mcpServers ?? data.servers) : undefined;
  if (!isMap(map))
    throw new Error('the file has no "mcpServers": it must look like {"mcpServers":{"name":{"command":"…"}}}');
  return map;
}

function readServer(name: string, entry: unknown, notes: string[]): DesktopServer | null {
  const skip = (why: string): null => {
    notes.push(`${name}: left out, ${why}`);
    return null;
  };
  if (!isMap(entry)) return skip('its entry is not a map');
  const url = entry.url ?? entry.serverUrl;
  if (url !== undefined || !STDIO.has(kindOf(entry))) {
    return skip(`it is a remote server${originOf(url)}, and remote servers are not supported yet`);
  }
  if (entry.disabled === true) return skip('it is disabled there');
  if (typeof entry.command !== 'string' || entry.command === '') return skip('it has no command');
  const { args = [], env = {}, cwd } = entry;
  if (!Array.isArray(args) || !args.every(isPlain)) return skip('its args are not a list of texts');
  if (!isMap(env) || !Object.values(env).every(isPlain)) return skip('its env is not a map of texts');
  const ignored = Object.keys(entry).filter((key) => !KNOWN.has(key));
  if (ignored.length > 0) notes.push(`${name}: not taken over: ${ignored.join(', ')}`);
  return {
    name,
    command: entry.command,
    args: args.map(String),
    env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, String(value)])),
    ...(typeof cwd === 'string' && cwd !== '' ? { cwd } : {}),
  };
}

function kindOf(entry: Record<string, unknown>): string | undefined {
  const kind = entry.type ?? entry.transport;
  return kind === undefined ? undefined : String(kind);
}

/** Without path and query, which may carry a key. */
function originOf(url: unknown): string {
  return typeof url === 'string' && URL.canParse(url) ? ` at ${new URL(url).origin}` : '';
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
