// Four gateways, two pool managers, one Redis, and a legacy client: it answers where it likes, and when the gateway that
// held its stream is killed it goes on at the other, with nothing missing, nothing twice, and the tool having run once
// (design §2, §4 "Legacy streams", protocol.md §3.4).

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { connectV1 } from '../harness/client-legacy.ts';
import { within } from '../harness/eventually.ts';
import { type Cluster, startCluster, warm } from '../harness/lockkeeper.ts';
import { callLegacy } from '../harness/messages.ts';
import { type SseEvent, sseEvents } from '../harness/raw-sse.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';

type Era = 'legacy' | 'modern';
type Json = Record<string, unknown>;
const ERAS: readonly Era[] = ['legacy', 'modern'];
const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

let folder: string;
let redis: StartedRedis;
let cluster: Cluster;
/** Is never killed. */
const SURVIVOR = 3;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lockkeeper-legacy-'));
  redis = await startRedis();
  cluster = await start();
});
after(async () => {
  await cluster?.stop();
  await redis?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<Cluster> {
  const asks = ERAS.map((era) => ({
    name: era,
    args: [at('./servers/confirms.mjs')],
    env: { ERA: era, COUNTER: join(folder, era) },
  }));
  const works = { name: 'works', args: [at('../servers/progress-and-logs.mjs')] };
  const started = await startCluster({ gateways: 4, poolManagers: 2, redis: redis.url, servers: [...asks, works] });
  const ping = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  await warm(async () => {
    for (const { name } of [...asks, works]) {
      const { message } = await callLegacy(started.gateways[SURVIVOR]!.route(`/acme/${name}/mcp`), { message: ping });
      assert.ok(message?.result, name);
    }
  });
  return started;
}

const lines = (era: Era) => readFileSync(join(folder, era), 'utf8').split('\n').filter(Boolean);

interface Client {
  readonly session: string;
  send(gateway: number, message: Json): Promise<Response>;
  resume(gateway: number, last: string): Promise<Response>;
}

async function connect(gateway: number, route: string, capabilities: Json): Promise<Client> {
  const accept = 'application/json, text/event-stream';
  const headers: Record<string, string> = { 'content-type': 'application/json', accept };
  const send = (to: number, message: Json) =>
    fetch(cluster.gateways[to]!.route(route), { method: 'POST', headers, body: JSON.stringify(message) });
  const clientInfo = { name: 'raw', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo };
  const greeted = await send(gateway, { jsonrpc: '2.0', id: 0, method: 'initialize', params });
  await greeted.text();
  const session = greeted.headers.get('mcp-session-id') ?? assert.fail('no session');
  headers['mcp-session-id'] = session;
  return {
    session,
    send,
    resume: (to, last) =>
      fetch(cluster.gateways[to]!.route(route), {
        headers: { ...headers, accept: 'text/event-stream', 'last-event-id': last },
      }),
  };
}

/** One stream after another, as one: what was heard, and up to where. */
function listener() {
  const heard: Json[] = [];
  let last = '';
  let source: AsyncGenerator<SseEvent> | null = null;
  return {
    heard,
    last: () => last,
    on(response: Response): void {
      assert.equal(response.status, 200);
      source = sseEvents(chunks(response));
    },
    /** The next message; null at the end, and when the connection broke. */
    async next(): Promise<Json | null> {
      for (;;) {
        const step = await within(source!.next(), 20_000, 'an event').catch((error: unknown) => {
          if (String(error).includes('not within')) throw error;
          return { done: true, value: undefined } as const;
        });
        if (step.done === true) return null;
        last = step.value.id ?? last;
        if (!step.value.data) continue;
        const message = JSON.parse(step.value.data) as Json;
        heard.push(message);
        return message;
      }
    },
  };
}

async function* chunks(response: Response): AsyncGenerator<Buffer> {
  for await (const chunk of response.body!) yield Buffer.from(chunk as Uint8Array);
}

const call = (name: string, args: Json) => ({
  ...{ jsonrpc: '2.0', id: 'call', method: 'tools/call' },
  params: { name, arguments: args, _meta: { progressToken: 't' } },
});
const accept = (id: unknown, code: string) => ({ jsonrpc: '2.0', id, result: { action: 'accept', content: { code } } });
const textOf = (message: Json | null) =>
  (message?.result as { content: { text: string }[] } | undefined)?.content[0]?.text ?? JSON.stringify(message);

describe('nobody dies', () => {
  for (const era of ERAS) {
    for (const how of ['streamable', 'sse'] as const) {
      it(`a published client over ${how} answers a ${era} server, each request at another gateway`, async () => {
        let turn = 0;
        const client = await connectV1(cluster.gateways[0]!.route(`/acme/${era}/mcp`), how, {
          capabilities: { elicitation: {} },
          fetch: (input, init) => {
            const { pathname, search } = new URL(input instanceof Request ? input.url : String(input));
            return fetch(cluster.gateways[turn++ % 4]!.route(pathname + search), init);
          },
        });
        client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { code: '7' } }));
        const arg = `${how}-${era}`;
        const result = await client.callTool({ name: 'confirm', arguments: { arg } });
        assert.match(textOf({ result }), new RegExp(`^${arg}: accept 7`));
        assert.deepEqual(
          lines(era).filter((line) => line.endsWith(arg)),
          era === 'legacy' ? [arg] : [arg, `again ${arg}`],
        );
        await client.close();
      });
    }
  }
});

describe('the gateway that holds the stream is killed', () => {
  for (const [victim, era] of ERAS.entries()) {
    it(`after it has asked for a ${era} server: answered and resumed at another`, async () => {
      const client = await connect(victim, `/acme/${era}/mcp`, { elicitation: {} });
      const heard = listener();
      const arg = `killed-${era}`;
      heard.on(await client.send(victim, call('confirm', { arg })));
      const question = await heard.next();
      assert.equal(question?.method, 'elicitation/create');
      await cluster.gateways[victim]!.process.kill();
      assert.equal(await heard.next(), null);
      assert.equal((await client.send(SURVIVOR, accept(question.id, '42'))).status, 202);
      heard.on(await client.resume(SURVIVOR, heard.last()));
      assert.match(textOf(await heard.next()), new RegExp(`^${arg}: accept 42`));
      assert.equal(await heard.next(), null);
      assert.equal(heard.heard.length, 2);
      assert.deepEqual(
        lines(era).filter((line) => line.endsWith(arg)),
        era === 'legacy' ? [arg] : [arg, `again ${arg}`],
      );
      assert.equal((await client.resume(SURVIVOR, heard.last())).status, 204);
    });
  }

  it('before anything was asked: progress goes on at another, and the result comes', async () => {
    const victim = 2;
    const client = await connect(victim, '/acme/works/mcp', {});
    const heard = listener();
    heard.on(await client.send(victim, call('work', { steps: 50, everyMs: 200 })));
    for (let i = 0; i < 5; i++) await heard.next();
    await cluster.gateways[victim]!.process.kill();
    while ((await heard.next()) !== null);
    const before = heard.heard.length;
    heard.on(await client.resume(SURVIVOR, heard.last()));
    while ((await heard.next()) !== null);
    const steps = heard.heard.slice(0, -1).map((m) => (m.params as Json).progress as number);
    // While nobody listened the node kept the last one only; none comes twice or late.
    assert.ok(
      steps.every((step, i) => i === 0 || step > steps[i - 1]!),
      steps.join(),
    );
    assert.deepEqual(steps.slice(0, 5), [1, 2, 3, 4, 5]);
    assert.ok(steps.length > before && steps.at(-1) === 50, steps.join());
    assert.equal(textOf(heard.heard.at(-1)!), '50 steps');
  });
});
