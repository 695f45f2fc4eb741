// What one result of many megabytes takes of a gateway's memory, by the way it goes to its client: the highest resident
// memory of a gateway started for it alone, over what it has before. Gateway, pool manager and server are processes of
// their own, the client throws away what it reads.
//
//   node ops/dev/run.mjs test/bench/large.ts [--mb 100]

import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { parseArgs } from 'node:util';
import { within } from '../harness/eventually.ts';
import { startCluster, warm } from '../harness/lockkeeper.ts';
import { memoryMb } from '../harness/process-tree.ts';
import { startRedis } from '../harness/redis.ts';

const { values: flags } = parseArgs({ options: { mb: { type: 'string', default: '100' } } });
const SIZE = Number(flags.mb) * 1_000_000;
const LIMIT = 4 * SIZE;
const DEADLINE_MS = 120_000;
const BOTH = 'application/json, text/event-stream';

interface Way {
  readonly name: string;
  readonly revision: string;
  readonly accept: string;
}

const WAYS: readonly Way[] = [
  { name: 'modern, JSON', revision: '2026-07-28', accept: 'application/json' },
  { name: 'modern, stream', revision: '2026-07-28', accept: 'text/event-stream' },
  { name: '2025-11-25, JSON', revision: '2025-11-25', accept: 'application/json' },
  { name: '2025-11-25, stream', revision: '2025-11-25', accept: BOTH },
  { name: '2025-06-18, stream', revision: '2025-06-18', accept: BOTH },
];

async function post(url: string, headers: Record<string, string>, body: object): Promise<IncomingMessage> {
  const sending = request(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers } });
  sending.end(JSON.stringify({ jsonrpc: '2.0', ...body }));
  const [answer] = (await within(once(sending, 'response'), DEADLINE_MS, 'a head')) as [IncomingMessage];
  return answer;
}

async function bytesOf(answer: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of answer) bytes += (chunk as Buffer).length;
  return bytes;
}

type Call = (size: number) => Promise<number>;

async function callerOf(url: string, { revision, accept }: Way): Promise<Call> {
  const params = (size: number) => ({ name: 'big', arguments: { size } });
  if (revision === '2026-07-28') {
    const headers = { accept, 'mcp-protocol-version': revision, 'mcp-method': 'tools/call', 'mcp-name': 'big' };
    const prefix = 'io.modelcontextprotocol';
    const _meta = { [`${prefix}/protocolVersion`]: revision, [`${prefix}/clientCapabilities`]: {} };
    return async (size) =>
      await bytesOf(await post(url, headers, { id: 1, method: 'tools/call', params: { ...params(size), _meta } }));
  }
  const hello = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'bench', version: '1' } };
  const greeted = await post(url, { accept: BOTH }, { id: 0, method: 'initialize', params: hello });
  await bytesOf(greeted);
  const session = String(greeted.headers['mcp-session-id']);
  const headers = { accept, 'mcp-session-id': session, 'mcp-protocol-version': revision };
  return async (size) => await bytesOf(await post(url, headers, { id: 1, method: 'tools/call', params: params(size) }));
}

const redis = await startRedis();
const cluster = await startCluster({
  ...{ gateways: 1, poolManagers: 1, redis: redis.url },
  servers: [{ name: 'big', args: ['test/servers/big-result.mjs'], isolation: 'shared' }],
  limits: { maxLineBytes: LIMIT, maxResultBytes: LIMIT },
});
try {
  for (const way of WAYS) {
    await cluster.restart('gateway', 0);
    const gateway = cluster.gateways[0]!;
    const call = await callerOf(gateway.route('/acme/big/mcp'), way);
    await warm(() => call(1_000));
    const { pid } = gateway.process;
    const before = memoryMb(pid).now;
    const got = await call(SIZE);
    if (got < SIZE) throw new Error(`${way.name}: ${got} bytes of ${SIZE}`);
    const took = memoryMb(pid).peak - before;
    const times = ((took * 1_048_576) / SIZE).toFixed(1);
    console.log(`${way.name.padEnd(20)} ${String(took).padStart(5)} MB for ${flags.mb} MB (× ${times})`);
  }
} finally {
  await cluster.stop();
  await redis.stop();
}
