// A server asks, and then a process dies by SIGKILL: what becomes of the question, the call and the client (design §2, §4)?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { callLegacy, legacyRequest, openLegacySession } from '../harness/messages.ts';
import { aliveAmong, descendants } from '../harness/process-tree.ts';
import { sendRaw } from '../harness/raw.ts';
import type { SseEvent } from '../harness/raw-sse.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';
import { type Stage, startStage, textOf } from './stage.ts';

let redis: StartedRedis;
let stage: Stage;

before(async () => {
  redis = await startRedis();
  stage = await startStage(redis.url);
});

after(async () => {
  await stage?.stop();
  await redis?.stop();
});

const STEPS = 40;

interface Stream {
  readonly events: SseEvent[];
  readonly ended: Promise<unknown>;
}

function read(response: { events(): AsyncGenerator<SseEvent> }): Stream {
  const events: SseEvent[] = [];
  const all = async () => {
    for await (const event of response.events()) events.push(event);
  };
  return { events, ended: all().catch(() => undefined) };
}

const lastId = (events: readonly SseEvent[]) => events.findLast(({ id }) => id !== undefined)?.id;
type Message = { params?: { progress?: number; data?: { progress: number } }; id?: number };
const messages = (events: readonly SseEvent[]): readonly Message[] =>
  events.filter(({ data }) => data).map(({ data }) => JSON.parse(data!) as Message);

/** A legacy call on one gateway, whose stream is read until it breaks. */
async function streaming(gateway: number, arg: string) {
  const { session } = await openLegacySession(stage.url(gateway), { capabilities: { elicitation: {} } });
  const level = { jsonrpc: '2.0', id: 2, method: 'logging/setLevel', params: { level: 'info' } };
  await callLegacy(stage.url(gateway), { session: session!, revision: '2025-11-25', message: level });
  const params = { name: 'steps', arguments: { arg, steps: STEPS, everyMs: 40 }, _meta: { progressToken: arg } };
  const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params };
  const how = { session: session!, revision: '2025-11-25' };
  const stream = read(await sendRaw(stage.url(gateway), legacyRequest({ ...how, message })));
  return { how, arg, stream };
}

describe('kill -9', { concurrency: false }, () => {
  it('the gateway that held legacy streams: each client resumes at another, nothing is missing or comes twice', async () => {
    const clients = await Promise.all(['s1', 's2', 's3', 's4'].map((arg) => streaming(1, arg)));
    for (const { stream } of clients)
      await eventually(() => messages(stream.events).length > 3, { deadlineMs: 15_000 });
    await stage.cluster.gateways[1]!.process.kill();
    await Promise.all(clients.map(({ stream }) => stream.ended));
    await Promise.all(
      clients.map(async ({ how, arg, stream }, i) => {
        const headers = {
          accept: 'text/event-stream',
          'mcp-session-id': how.session,
          'mcp-protocol-version': how.revision,
          'last-event-id': lastId(stream.events)!,
        };
        const response = await sendRaw(stage.url(i % 2 === 0 ? 0 : 2), { method: 'GET', headers });
        assert.equal(response.status, 200);
        const rest = read(response);
        await eventually(() => messages(rest.events).some(({ id }) => id === 7), { deadlineMs: 20_000 });
        response.destroy();
        const all = [...messages(stream.events), ...messages(rest.events)];
        const logged = all.flatMap(({ params }) => (params?.data === undefined ? [] : [params.data.progress]));
        assert.deepEqual(
          logged,
          Array.from({ length: STEPS }, (_, n) => n + 1),
        );
        // Of progress only the last counts while nobody hears (protocol.md §5.5).
        const steps = all.flatMap(({ params }) => (params?.progress === undefined ? [] : [params.progress]));
        assert.deepEqual(
          steps,
          [...new Set(steps)].sort((a, b) => a - b),
        );
        assert.equal(steps.at(-1), STEPS);
        assert.equal(all.filter(({ id }) => id === 7).length, 1);
        assert.equal(stage.runs(arg), 1);
      }),
    );
  });

  it('the gateway that delivered the question: it is answered at another, and the tool has run once', async () => {
    const question = await stage.question({ arg: 'g', gateway: 0 });
    await stage.cluster.gateways[0]!.process.kill();
    const done = await stage.call({ arg: 'g', gateway: 2, question });
    assert.equal(textOf(done), 'g: accept 42');
    assert.equal(stage.runs('g'), 1);
  });

  it('the pool manager that holds the question: the retry hears that it may have partly run, nothing runs again', async () => {
    const pid = Number(textOf(await stage.call({ arg: 'pid', gateway: 2, tool: 'pid' })));
    const question = await stage.question({ arg: 'n', gateway: 2 });
    const { holder, other } = stage.holderOf(pid);
    const family = descendants(stage.cluster.poolManagers[holder]!.pid);
    await stage.cluster.poolManagers[holder]!.kill();
    const lost = await stage.call({ arg: 'n', gateway: 2, question });
    assert.equal(lost.result?.isError, true, JSON.stringify(lost));
    assert.equal(lost.result._meta?.['lockkeeper/reason'], 'lost');
    assert.match(textOf(lost), /may have (partly )?run/);
    await eventually(() => aliveAmong(family).length === 0, { deadlineMs: 10_000 });
    const again = await stage.call({ arg: 'n', gateway: 2, question });
    assert.equal(again.result?._meta?.['lockkeeper/reason'], 'lost', JSON.stringify(again));
    assert.equal(stage.runs('n'), 1);
    // The other one serves on.
    const next = await eventually(() => stage.question({ arg: 'next', gateway: 2 }), {
      deadlineMs: 30_000,
      everyMs: 500,
    });
    assert.equal(textOf(await stage.call({ arg: 'next', gateway: 2, question: next })), 'next: accept 42');
    const now = Number(textOf(await stage.call({ arg: 'pid', gateway: 2, tool: 'pid' })));
    assert.equal(stage.holderOf(now).holder, other);
  });
});
