// What the suite is pointed at: the fixtures behind Lockkeeper (one process each, so that runs side by side do not meet),
// or, to measure the fixtures themselves, directly.

import { fileURLToPath } from 'node:url';
import { startStandalone, warm } from '../harness/lockkeeper.ts';
import { callLegacy, callModern } from '../harness/messages.ts';
import { startProcess } from '../harness/process.ts';
import type { Revision } from './suite.ts';

export const FIXTURES = ['legacy', 'dual', 'modern'] as const;
export const REVISIONS: readonly Revision[] = ['2025-11-25', '2026-07-28'];
export type Fixture = (typeof FIXTURES)[number];

export interface Cell {
  readonly fixture: Fixture;
  readonly revision: Revision;
  readonly url: string;
}

export interface Targets {
  readonly cells: readonly Cell[];
  stop(): Promise<void>;
}

const CLOSE_STREAMS_MS = 50;
const fileOf = (fixture: Fixture) => fileURLToPath(new URL(`./fixtures/${fixture}.ts`, import.meta.url));
const nameOf = (fixture: Fixture, revision: Revision) => `${fixture}-${revision.slice(0, 4)}`;

/** What server-stateless declares: a legacy process is one for each (design §5 "Fingerprint"). */
const DECLARED = [{}, { elicitation: {} }];

/** The first list starts the process and finds its era; a cold one would be a failure of server-stateless. */
async function warmCell({ url, revision }: Cell): Promise<void> {
  await warm(async () => {
    if (revision === '2026-07-28') {
      for (const capabilities of DECLARED) {
        const meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities };
        const { status, message } = await callModern(url, { method: 'tools/list', meta });
        if (status !== 200 || !message?.result) throw new Error(`${status} ${JSON.stringify(message)}`);
      }
      return;
    }
    const { status, message } = await callLegacy(url, { message: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
    if (status !== 200 || !message?.result) throw new Error(`${status} ${JSON.stringify(message)}`);
  });
}

export async function throughLockkeeper(wanted: readonly Omit<Cell, 'url'>[]): Promise<Targets> {
  const servers = wanted.map(({ fixture, revision }) => ({
    name: nameOf(fixture, revision),
    args: [fileOf(fixture)],
    isolation: 'user' as const,
  }));
  // Below the time that test_reconnection takes, so that server-sse-polling has something to poll for.
  const routes = servers.map(({ name }) => ({
    ...{ path: `/acme/${name}/mcp`, tenant: 'acme', server: name, closeStreamsAfterMs: CLOSE_STREAMS_MS },
  }));
  const lockkeeper = await startStandalone({ servers, routes });
  const cells = wanted.map((cell) => ({
    ...cell,
    url: lockkeeper.route(`/acme/${nameOf(cell.fixture, cell.revision)}/mcp`),
  }));
  try {
    await Promise.all(cells.map(warmCell));
  } catch (error) {
    console.error(lockkeeper.process.logs().slice(-8_000));
    await lockkeeper.stop();
    throw error;
  }
  return { cells, stop: lockkeeper.stop };
}

/** Without Lockkeeper; eras that a fixture does not speak are left out. */
export async function direct(wanted: readonly Omit<Cell, 'url'>[]): Promise<Targets> {
  const speaks = (fixture: Fixture, revision: Revision) =>
    fixture === 'dual' || (fixture === 'legacy') === (revision === '2025-11-25');
  const started = await Promise.all(
    wanted
      .filter(({ fixture, revision }) => speaks(fixture, revision))
      .map(async (cell) => {
        const running = await startProcess({ args: [fileOf(cell.fixture), '--http'] });
        return { running, cell: { ...cell, url: String(running.ready.url) } };
      }),
  );
  return {
    cells: started.map(({ cell }) => cell),
    stop: async () => {
      await Promise.all(started.map(({ running }) => running.kill()));
    },
  };
}
