// Does a client that loses its stream, or the replica that held it, hear everything once and nothing twice? (protocol.md
// §3.4, design §4 "Legacy streams")

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { systemClock } from '@lockkeeper/state/clock';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import { eventually } from '../../../../../test/harness/eventually.ts';
import { type AskingNode, createAskingNode, type Running } from './asking-node.ts';
import { call, open, post, request, verb } from './client.ts';
import { follow, steps } from './follow.ts';
import { createWorld, type Kind, ROUTE, type World } from './replicas.ts';

const FORM = { message: 'Go on?', requestedSchema: { type: 'object', properties: {} } };
const CAN = { elicitation: {} };

for (const kind of ['memory', 'redis'] satisfies Kind[]) {
  describe(`with the ${kind} store`, () => {
    let world: World;
    let node: AskingNode;
    before(async () => {
      world = await createWorld(kind);
    });
    after(() => world.close());
    beforeEach(() => {
      node = createAskingNode();
      world.upstream.answer = node.answer;
    });

    const get = (replica: 0 | 1, session: string, last: string, signal?: AbortSignal, w = world) =>
      verb(
        'GET',
        w.replicas[replica],
        { session, accept: 'text/event-stream', headers: { 'last-event-id': last } },
        signal,
      );
    const slow = (id: unknown = 1) => call(id, 'slow', { progressToken: 't' });

    /** A tool that goes on when it is told to. */
    function steady(): { readonly running: Promise<Running>; readonly end: (said: string) => void } {
      let begin!: (running: Running) => void;
      let end!: (said: string) => void;
      const running = new Promise<Running>((resolve) => {
        begin = resolve;
      });
      const ended = new Promise<string>((resolve) => {
        end = resolve;
      });
      node.script('slow', async (call) => {
        begin(call);
        return await ended;
      });
      return { running, end };
    }

    test('ids name their stream and rise; only 2025-11-25 is primed', async () => {
      for (const [revision, primed] of [
        ['2025-11-25', true],
        ['2025-03-26', false],
      ] as const) {
        const tool = steady();
        const session = await open(world.replicas[0], revision);
        const replying = post(world.replicas[0], slow(), { session });
        const running = await tool.running;
        running.progress(1);
        const heard = follow(await replying);
        const first = await heard.next();
        assert.equal(first?.data === '', primed);
        assert.equal(first?.retry, primed ? '1000' : undefined);
        running.progress(2);
        tool.end('done');
        assert.deepEqual(steps(await heard.rest()), primed ? [1, 2, 'done'] : [2, 'done']);
        assert.ok(
          heard.ids.every((id) => /^p[0-9a-f]{16}-\d+-\d+$/.test(id)),
          heard.ids.join(),
        );
        assert.equal(new Set(heard.ids.map((id) => id.split('-')[0])).size, 1);
        assert.equal(new Set(heard.ids).size, heard.ids.length);
        assert.equal((await get(1, session, heard.last())).status, 204);
      }
    });

    test('a client that comes back to another replica goes on where it was, its old socket is let go', async () => {
      const tool = steady();
      const session = await open(world.replicas[0]);
      const replying = post(world.replicas[0], slow(), { session });
      const running = await tool.running;
      for (const n of [1, 2, 3]) running.progress(n);
      const old = follow(await replying);
      await old.next();
      assert.equal((await old.message()).params?.progress, 1);
      const from = old.last();
      // The old socket is still open: half of it, as far as we know.
      const back = follow(await get(1, session, from));
      assert.equal((await back.message()).params?.progress, 2);
      await old.rest();
      running.progress(4);
      tool.end('done');
      assert.deepEqual(steps(await back.rest()), [3, 4, 'done']);
      // From an earlier point everything after it comes again.
      const again = follow(await get(0, session, from));
      assert.deepEqual(steps(await again.rest()), [2, 3, 4, 'done']);
      assert.deepEqual(node.begun, ['slow']);
    });

    test('a broken connection is no cancel: what was missed waits', async () => {
      const tool = steady();
      const session = await open(world.replicas[0]);
      const leaving = new AbortController();
      const replying = post(world.replicas[0], slow(), { session }, leaving.signal);
      const running = await tool.running;
      running.progress(1);
      const heard = follow(await replying);
      await heard.message();
      leaving.abort();
      running.progress(2);
      tool.end('done');
      await eventually(() => world.upstream.audit.some(({ xid }) => xid === running.xid));
      assert.equal(world.upstream.cancelled.includes(running.xid), false);
      assert.deepEqual(steps(await follow(await get(1, session, heard.last())).rest()), [2, 'done']);
    });

    test('of other streams and other sessions nothing is replayed', async () => {
      const one = steady();
      const session = await open(world.replicas[0]);
      const first = post(world.replicas[0], slow(1), { session });
      (await one.running).progress(1);
      const heard = follow(await first);
      await heard.message();
      const two = steady();
      const second = post(world.replicas[0], slow(2), { session });
      (await two.running).progress(10);
      await follow(await second).message();
      one.end('one');
      two.end('two');
      assert.deepEqual(steps(await follow(await get(1, session, heard.last())).rest()), ['one']);
      const bob = await open(world.replicas[0], '2025-11-25', {}, { user: 'acme/bob/app' });
      const headers = { 'last-event-id': heard.last() };
      const foreign = await verb('GET', world.replicas[0], {
        ...{ session: bob, user: 'acme/bob/app', accept: 'text/event-stream', headers },
      });
      assert.equal(foreign.status, 400);
    });

    test('an unknown id of a call’s stream is 400, any other a fresh stream', async () => {
      const session = await open(world.replicas[0]);
      const gone = await get(0, session, 'p0123456789abcdef-1-0');
      assert.equal(gone.status, 400);
      assert.match(await gone.text(), /Last-Event-ID/);
      for (const id of ['g0123456789abcdef-1-0', 'x', '17', 'p0123456789abcdef-1', '\t']) {
        const leaving = new AbortController();
        const fresh = await get(0, session, id, leaving.signal);
        assert.equal(fresh.status, 200);
        assert.match((await follow(fresh).next())?.id ?? '', /^g[0-9a-f]{16}-0-0$/);
        leaving.abort();
      }
    });

    test('a result too large for the log comes all the same, live and later', async () => {
      const tool = steady();
      const session = await open(world.replicas[0]);
      const replying = post(world.replicas[0], slow(), { session });
      const running = await tool.running;
      running.progress(1);
      const heard = follow(await replying);
      await heard.message();
      const from = heard.last();
      const large = 'é'.repeat(300_000);
      tool.end(large);
      assert.deepEqual(steps(await heard.rest()), [large]);
      assert.deepEqual(steps(await follow(await get(1, session, from)).rest()), [large]);
    });

    test('a batch is one stream: it ends when all are answered, and resumes as one', async () => {
      const session = await open(world.replicas[0], '2025-03-26');
      const tools = [steady()];
      node.script('quick', async () => 'quick');
      const replying = post(world.replicas[0], [slow(1), call(2, 'quick'), request(3, 'ping')], { session });
      const running = await tools[0]!.running;
      running.progress(1);
      const heard = follow(await replying);
      const ids = new Set<unknown>();
      for (let i = 0; i < 3; i++) ids.add((await heard.message()).id);
      const rest = follow(await get(1, session, heard.last()));
      tools[0]!.end('slow');
      assert.deepEqual(steps(await rest.rest()), ['slow']);
      assert.deepEqual(ids, new Set([undefined, 2, 3]));
    });

    describe('closeStreamsAfterMs', () => {
      before(() => {
        world.snapshot.value = { ...world.snapshot.value, routes: [{ ...ROUTE, closeStreamsAfterMs: 50 }] };
      });
      after(() => {
        world.snapshot.value = { ...world.snapshot.value, routes: [ROUTE] };
      });

      test('a long call is polled by a client of 2025-11-25', async () => {
        const tool = steady();
        const session = await open(world.replicas[0]);
        let heard = follow(await post(world.replicas[0], slow(), { session }));
        assert.deepEqual(await heard.rest(), []);
        (await tool.running).progress(1);
        const all: unknown[] = [];
        for (let i = 0; all.length < 2; i++) {
          heard = follow(await get(i % 2 ? 0 : 1, session, heard.last()));
          all.push(...steps(await heard.rest()));
          if (i === 2) tool.end('done');
          assert.ok(i < 20);
        }
        assert.deepEqual(all, [1, 'done']);
        assert.deepEqual(node.begun, ['slow']);
      });

      test('a quick call is JSON; an older client keeps its stream', async () => {
        node.script('quick', async () => 'quick');
        const session = await open(world.replicas[0]);
        const reply = await post(world.replicas[0], call(1, 'quick'), { session });
        assert.equal(reply.headers.get('content-type'), 'application/json');
        await reply.text();
        const tool = steady();
        const older = await open(world.replicas[0], '2025-06-18');
        const heard = follow(await post(world.replicas[0], slow(), { session: older }));
        const running = await tool.running;
        await eventually(() => performance.now() > 0);
        running.progress(1);
        assert.equal((await heard.message()).params?.progress, 1);
        tool.end('done');
        assert.deepEqual(steps(await heard.rest()), ['done']);
      });
    });
  });
}

test('GB-142: a log that cannot be written keeps nobody from the answer', async () => {
  const memory = createMemoryStore({ clock: systemClock, warn: () => undefined });
  let full = false;
  const append: typeof memory.append = (...args) => (full ? Promise.reject(new Error('full')) : memory.append(...args));
  const world = await createWorld('memory', { store: { ...memory, append } });
  const node = createAskingNode();
  world.upstream.answer = node.answer;
  node.script('slow', async (running) => {
    running.progress(1);
    await eventually(() => full);
    running.progress(2);
    return 'done';
  });
  const session = await open(world.replicas[0]);
  const heard = follow(await post(world.replicas[0], call(1, 'slow', { progressToken: 't' }), { session }));
  assert.equal((await heard.message()).params?.progress, 1);
  full = true;
  assert.deepEqual(steps(await heard.rest()), [2, 'done']);
  await world.close();
});

test('an answer waits for a node that cannot be reached for a moment', async () => {
  const world = await createWorld('memory');
  const node = createAskingNode();
  let misses = 2;
  world.upstream.answer = async (exchange, ask, listener) =>
    ask.params.some(({ key }) => key === 'inputResponses') && misses-- > 0
      ? { kind: 'refusal', refusal: { reason: 'unavailable' } }
      : await node.answer(exchange, ask, listener);
  node.script('ask', async (running) => JSON.stringify(await running.ask('k', 'elicitation/create', FORM)));
  const session = await open(world.replicas[0], '2025-11-25', CAN);
  const heard = follow(await post(world.replicas[0], call(1, 'ask'), { session }));
  const { id } = await heard.message();
  const taken = await post(world.replicas[1], { jsonrpc: '2.0', id, result: { action: 'decline' } }, { session });
  assert.equal(taken.status, 202);
  assert.deepEqual(steps(await heard.rest()), ['{"action":"decline"}']);
  await world.close();
});
