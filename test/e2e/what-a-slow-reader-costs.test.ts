// Back-pressure end to end (design §5): megabytes, clients that stop reading and children that stop reading. What each
// costs in memory is printed, bounded generously, and nobody else waits for it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../harness/eventually.ts';
import { type Cluster, startCluster } from '../harness/lockkeeper.ts';
import { callModern, legacyRequest, modernRequest, openLegacySession } from '../harness/messages.ts';
import { memoryMb } from '../harness/process-tree.ts';
import type { RawRequest } from '../harness/raw.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';

const MIB = 1024 * 1024;
/** Of one process, with everything that a test below does to it. An idle one has 110 to 170 MB. */
const MOST_MB = 1_100;
const CHILD = fileURLToPath(new URL('../servers/strains.mjs', import.meta.url));

let redis: StartedRedis;
let cluster: Cluster;

before(async () => {
  redis = await startRedis();
  cluster = await startCluster({
    ...{ gateways: 1, poolManagers: 1, redis: redis.url },
    servers: (['shared', 'user'] as const).map((isolation) => ({ name: isolation, isolation, args: [CHILD] })),
    limits: {
      maxLineBytes: 128 * MIB,
      maxResultBytes: 128 * MIB,
      maxBodyBytes: 16 * MIB,
      keepAliveMs: 1_000,
      holdMs: 0,
    },
  });
  for (const name of ['shared', 'user']) await small(name);
});

after(async () => {
  await cluster?.stop();
  await redis?.stop();
});

const url = (name: string) => cluster.gateways[0]!.route(`/acme/${name}/mcp`);
const toolCall = (name: string, args: object) => ({ method: 'tools/call', params: { name, arguments: args } });

async function small(name: string): Promise<string> {
  const { message } = await callModern(url(name), toolCall('echo', { text: 'small' }));
  const { result } = message as { result?: { content: { text: string }[] } };
  assert.equal(result?.content[0]?.text, 'small', JSON.stringify(message));
  return result.content[0]!.text;
}

/** Small calls one after another for as long as `work` lasts. */
async function beside<T>(name: string, work: Promise<T>): Promise<{ readonly value: T; readonly calls: number }> {
  let over = false;
  const done = work.finally(() => {
    over = true;
  });
  let calls = 0;
  while (!over) {
    await small(name);
    if (!over) calls++;
  }
  return { value: await done, calls };
}

/** Sends a request and gives the socket, of which nothing is read yet. */
function send(name: string, { headers, body }: RawRequest): Socket {
  const { hostname, port, pathname } = new URL(url(name));
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {}); // it may be let go
  const length = String(Buffer.byteLength(body!));
  const all = { host: `${hostname}:${port}`, connection: 'close', 'content-length': length, ...headers };
  const lines = Object.entries(all).map(([key, value]) => `${key}: ${value}`);
  socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  socket.write(body!);
  socket.pause();
  return socket;
}

/** Counts what comes and keeps only the beginning. */
async function readAll(socket: Socket): Promise<{ readonly bytes: number; readonly head: string }> {
  let [bytes, head] = [0, ''];
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (head.length < 1000) head += chunk.toString('latin1');
  });
  socket.resume();
  await once(socket, 'close');
  return { bytes, head };
}

function tell(t: TestContext, what: string): void {
  const [gateway, node] = [cluster.gateways[0]!.process.pid, cluster.poolManagers[0]!.pid].map(memoryMb);
  t.diagnostic(
    `${what}: gateway ${gateway!.now} MB (most ${gateway!.peak}), pool manager ${node!.now} (${node!.peak})`,
  );
  for (const { peak } of [gateway!, node!]) assert.ok(peak < MOST_MB, `${what}: ${peak} MB`);
}

const SIZE = 100 * MIB;
const BIG = toolCall('big', { size: SIZE });

describe('a hundred megabytes', { concurrency: false }, () => {
  it('reach a modern client whole, and small calls of the same process and of others go on', async (t) => {
    tell(t, 'before');
    const other = beside('user', readAll(send('shared', modernRequest(BIG))));
    const { value, calls } = await beside('shared', other);
    assert.match(value.value.head, /^HTTP\/1\.1 200/);
    assert.ok(value.value.bytes > SIZE, `${value.value.bytes} of ${SIZE}`);
    tell(t, `a result of 100 MB, ${calls} and ${value.calls} small calls meanwhile`);
    assert.ok(calls > 0 && value.calls > 0);
  });

  it('reach a legacy client whole', async (t) => {
    const { session } = await openLegacySession(url('user'), {});
    const message = { jsonrpc: '2.0', id: 9, ...BIG };
    const request = legacyRequest({ session: session!, revision: '2025-11-25', message });
    const { value, calls } = await beside('shared', readAll(send('user', request)));
    assert.match(value.head, /^HTTP\/1\.1 200/);
    assert.ok(value.bytes > SIZE, `${value.bytes} of ${SIZE}`);
    assert.ok(calls > 0);
    tell(t, 'a result of 100 MB in a session');
  });
});

/** Streams that the gateway has open. */
async function streams(): Promise<number> {
  const text = await (await fetch(`${cluster.gateways[0]!.admin}/metrics`)).text();
  return Number(/^lockkeeper_http_streams_open (\d+)/m.exec(text)?.[1]);
}

/** A client that takes the head of its response and nothing more. */
async function stalled(name: string, request: RawRequest): Promise<Socket> {
  const socket = send(name, request);
  const first = once(socket, 'data');
  socket.resume();
  const [chunk] = (await first) as [Buffer];
  socket.pause();
  assert.match(chunk.toString('latin1'), /^HTTP\/1\.1 200/);
  return socket;
}

const letGo = () => eventually(async () => (await streams()) === 0, { deadlineMs: 60_000 });

describe('a client that stops reading', { concurrency: false }, () => {
  it('is let go with what it did not take: eight times 24 MB do not stay', async (t) => {
    for (let turn = 1; turn <= 2; turn++) {
      // As a stream in any case: one that was quick could be told as JSON, and would not be counted.
      const headers = { accept: 'text/event-stream' };
      const big = modernRequest({ ...toolCall('big', { size: 24 * MIB }), headers });
      const sockets = await Promise.all(Array.from({ length: 4 }, () => stalled('shared', big)));
      assert.equal(await streams(), 4);
      const { calls } = await beside('user', letGo());
      for (const socket of sockets) {
        const { bytes } = await readAll(socket);
        assert.ok(bytes < 24 * MIB, `${bytes} bytes were kept for it`);
      }
      tell(t, `after ${4 * turn} such clients and ${calls} small calls meanwhile`);
      assert.ok(calls > 0);
    }
  });

  it('holds up a talkative process for nobody: progress is coalesced, logs are dropped', async (t) => {
    const talk = toolCall('talk', { times: 10_000, bytes: 4096 });
    const meta = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' };
    const socket = await stalled('user', modernRequest({ ...talk, meta }));
    const { calls } = await beside('user', letGo());
    socket.destroy();
    tell(t, `after 80 MB of talk and ${calls} small calls of the same process meanwhile`);
    assert.ok(calls > 0);
  });
});

describe('a child that stops reading', { concurrency: false }, () => {
  it('holds up its own calls only; they are all answered when it reads again', async (t) => {
    const text = 'y'.repeat(MIB);
    await callModern(url('shared'), toolCall('deaf', { ms: 2_000 }));
    const calls = Promise.all(
      Array.from({ length: 64 }, () => callModern(url('shared'), toolCall('length', { text }))),
    );
    const { value, calls: others } = await beside('user', calls);
    for (const { message } of value) assert.match(JSON.stringify(message), new RegExp(`"text":"${text.length}"`));
    t.diagnostic(`${others} small calls of another process meanwhile`);
    assert.ok(others > 0);
    tell(t, '64 MB for a child that does not read');
  });
});
