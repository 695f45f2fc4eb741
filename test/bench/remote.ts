// What Lockkeeper adds to a call of a remote server, modern and legacy: the same server called directly and through the
// gateway, in one run, round by round, medians printed. The server and the client are the cheapest there can be, so that
// what is between the two rows is Lockkeeper.
//
//   node ops/dev/run.mjs test/bench/remote.ts [--quick]

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createIssuer } from '../harness/issuer.ts';
import { startCluster, warm } from '../harness/lockkeeper.ts';
import { callModern, openLegacySession } from '../harness/messages.ts';
import { startProcess } from '../harness/process.ts';
import { cpuMs } from '../harness/process-tree.ts';
import { startRedis } from '../harness/redis.ts';
import { startLoader } from './loader.ts';
import { block, bytesName, middle, type Sample } from './table.ts';
import type { LoadWish } from './wishes.ts';

const { values: flags } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });

const ROUNDS = flags.quick ? 2 : 5;
const DURATION_MS = flags.quick ? 500 : 1_000;
const KIB = 1024;
const CELLS = [200, 10 * KIB].flatMap((payload) => [1, 32].map((concurrency) => ({ payload, concurrency })));
const ERAS = ['modern', 'legacy'] as const;
type Era = (typeof ERAS)[number];

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const NODE_OPTIONS = JSON.parse(readFileSync(here('../../ops/node-options.json'), 'utf8')) as readonly string[];
const BASIC = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const MODERN = {
  headers: { ...BASIC, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' },
  meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  },
};

type Request = Pick<LoadWish, 'url' | 'headers' | 'meta' | 'tool'>;

interface Row {
  readonly name: string;
  readonly request: Request;
  /** Of Lockkeeper's own processes. */
  readonly pids: readonly number[];
}

async function legacyRequest(url: string, token?: string): Promise<Request> {
  const { session, result } = await openLegacySession(url, token === undefined ? {} : { token });
  if (!result) throw new Error(`${url} did not initialize`);
  const headers = {
    ...BASIC,
    ...(session !== null && { 'mcp-session-id': session }),
    'mcp-protocol-version': String(result.protocolVersion),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  return { url, tool: 'echo', meta: null, headers };
}

async function openStage() {
  const redis = await startRedis();
  const issuer = createIssuer();
  const origins = new Map(
    await Promise.all(
      ERAS.map(async (era) => [era, await startProcess({ args: [here('./remote-origin.ts'), era] })] as const),
    ),
  );
  const servers = ERAS.map((era) => ({
    name: era,
    http: { url: String(origins.get(era)!.ready.url) },
    isolation: 'shared' as const,
    more: { pool: { max: 1, minWarm: 0, idleMs: 300_000 } },
  }));
  const allow = ERAS.map((server) => ({ server, tools: ['*'], prompts: ['*'], resources: ['*'] }));
  const cluster = await startCluster({
    ...{ gateways: 1, poolManagers: 1, redis: redis.url, servers, nodeArgs: NODE_OPTIONS },
    auth: { mode: 'jwt', issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] }] },
    policy: [{ tenant: 'acme', groups: ['dev'], allow }],
    limits: { maxInFlightPerPrincipal: 2048 },
  });
  const gateway = cluster.gateways[0]!;
  const pids = [gateway.process.pid, cluster.poolManagers[0]!.pid];

  const rowsOf = async (era: Era): Promise<Row[]> => {
    const url = gateway.route(`/acme/${era}/mcp`);
    const token = issuer.token({ audience: url, ttlSeconds: 3_600 });
    await warm(async () => {
      const { status, message } = await callModern(url, { method: 'tools/list', token });
      if (status !== 200 || !message?.result) throw new Error(JSON.stringify(message));
    });
    const direct = String(origins.get(era)!.ready.url);
    const headers = { ...MODERN.headers, authorization: `Bearer ${token}` };
    return [
      {
        name: 'direct',
        request: era === 'modern' ? { ...MODERN, url: direct, tool: 'echo' } : await legacyRequest(direct),
        pids: [],
      },
      { name: 'lockkeeper, modern client', request: { ...MODERN, headers, url, tool: 'echo' }, pids },
      { name: 'lockkeeper, legacy client', request: await legacyRequest(url, token), pids },
    ];
  };
  const stop = async () => {
    await cluster.stop();
    await Promise.all([...origins.values()].map((origin) => origin.stop()));
    issuer.close();
    await redis.stop();
  };
  return { rowsOf, stop };
}

const loader = startLoader();

async function one({ request, pids }: Row, cell: (typeof CELLS)[number], durationMs = DURATION_MS): Promise<Sample> {
  const before = pids.map(cpuMs);
  const result = await loader.run({ ...request, ...cell, durationMs, atLeast: 1 });
  const spent = pids.reduce((sum, pid, index) => sum + cpuMs(pid) - before[index]!, 0);
  return { ...result, cpuUs: pids.length === 0 ? null : (spent * 1000) / result.calls };
}

const stage = await openStage();
try {
  for (const era of ERAS) {
    const rows = await stage.rowsOf(era);
    // Until the compiler is through.
    for (const row of rows) await one(row, { payload: 200, concurrency: 32 }, flags.quick ? 1_500 : 5_000);
    for (const cell of CELLS) {
      const samples = new Map<string, Sample[]>(rows.map(({ name }) => [name, []]));
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const row of rows) samples.get(row.name)!.push(await one(row, cell));
      }
      const printed = [...samples].map(([target, list]) => ({ target, sample: middle(list) }));
      const title = `${era} server, ${bytesName(cell.payload)}, ${cell.concurrency} at once`;
      console.log(block(title, printed, 'direct'));
    }
  }
} finally {
  loader.close();
  await stage.stop();
}
