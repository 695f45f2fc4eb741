import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, systemClock } from '@lockkeeper/state/clock';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import { allow, askOf, type FakeServer, fault, names, read, refusalOf, snapshotOf, stageOf } from './stage.ts';

const rule = (groups: string[], tools: string[]) => ({
  name: groups.join(),
  tenant: 'acme',
  groups,
  allow: [allow('s', { tools })],
});

test('GB-120: each sees what each may call, in either order, and a hidden name reads as an unknown one', async () => {
  const policy = [rule(['full'], ['x', 'y']), rule(['half'], ['x'])];
  const stage = stageOf({ servers: { s: { tools: ['{"name":"x"}', '{"name":"y"}'] } }, policy });
  const alice = { subject: 'alice', groups: ['full'] };
  const bob = { subject: 'bob', groups: ['half'] };
  for (let i = 0; i < 2; i++) {
    assert.deepEqual(names(await stage.ask('tools/list', '{}', alice)), ['x', 'y']);
    assert.deepEqual(names(await stage.ask('tools/list', '{}', bob)), ['x']);
  }
  const calls = stage.sentOf('tools/call').length;
  const hidden = refusalOf(await stage.ask('tools/call', '{"name":"y"}', bob));
  const unknown = refusalOf(await stage.ask('tools/call', '{"name":"q"}', bob));
  assert.deepEqual(hidden, { reason: 'unknown-name', message: 'Unknown tool: y' });
  assert.deepEqual(unknown, { reason: 'unknown-name', message: 'Unknown tool: q' });
  assert.equal(stage.sentOf('tools/call').length, calls);
});

test('P-15: the audit tells what the policy hides from what is not there, on either kind of route', async () => {
  const servers = { s: { tools: ['{"name":"x"}', '{"name":"y"}'] }, closed: { tools: ['{"name":"z"}'] } };
  const stage = stageOf({ servers, policy: [rule(['dev'], ['x'])] });
  const ruleOf = async (name: string, route: string) => {
    const answer = await stage.ask('tools/call', JSON.stringify({ name }), { route });
    const { message } = refusalOf(answer);
    assert.equal(message, `Unknown tool: ${name}`);
    return answer.rule;
  };
  assert.equal(await ruleOf('y', '/one'), 'default-deny');
  assert.equal(await ruleOf('s__y', '/all'), 'default-deny');
  assert.equal(await ruleOf('closed__z', '/all'), 'default-deny');
  assert.equal(await ruleOf('s__q', '/all'), undefined);
  assert.equal(await ruleOf('nobody__z', '/all'), undefined);
  assert.equal((await stage.ask('tools/call', '{"name":"s__x"}', { route: '/all' })).rule, 'dev');
});

test('GB-120: a permission taken away shows at the next request', async () => {
  const servers = { s: { tools: ['{"name":"x"}', '{"name":"y"}'] } };
  const stage = stageOf({ servers, policy: [rule(['dev'], ['*'])] });
  assert.deepEqual(names(await stage.ask('tools/list')), ['x', 'y']);
  stage.snapshot = snapshotOf({ servers, policy: [rule(['dev'], ['x'])] }, '2');
  assert.deepEqual(names(await stage.ask('tools/list')), ['x']);
  assert.equal(refusalOf(await stage.ask('tools/call', '{"name":"y"}')).reason, 'unknown-name');
});

test('GB-053: the body’s name is judged, whatever a header says', async () => {
  const stage = stageOf({ servers: { s: {} }, policy: [rule(['dev'], ['allowed'])] });
  const paramHeaders = { name: 'allowed' };
  const answer = await stage.ask('tools/call', '{"name":"forbidden"}', { paramHeaders, era: 'legacy' });
  assert.equal(refusalOf(answer).reason, 'unknown-name');
  assert.equal(stage.sentOf('tools/call').length, 0);
});

test('GB-056 GB-120: lists are private and never cross persons, clients or sessions, though the server says public', async () => {
  const own = (request: {
    principal: { subject: string; client: string | null };
    session: string | null;
    method: string;
  }) => {
    const { subject, client } = request.principal;
    if (request.method !== 'tools/list') return undefined;
    const name = `of-${subject}-${client}-${request.session}`;
    return {
      kind: 'result' as const,
      head: { kind: 'result' as const, stream: 1, seq: 1, resultType: 'complete' },
      body: Buffer.from(`"tools":[{"name":"${name}"}],"ttlMs":60000,"cacheScope":"public"`),
    };
  };
  const stage = stageOf({ servers: { s: { before: own } }, isolation: 'session' });
  const who = [
    { subject: 'alice', client: 'a' },
    { subject: 'alice', client: 'b' },
    { subject: 'bob', client: 'a' },
    { subject: 'bob', client: 'a', session: 'h1', era: 'legacy' as const },
    { subject: 'bob', client: 'a', session: 'h2', era: 'legacy' as const },
  ];
  for (const one of [...who, ...who]) {
    const answer = await stage.ask('tools/list', '{}', one);
    assert.deepEqual(names(answer), [`of-${one.subject}-${one.client}-${one.session ?? null}`]);
    assert.equal(read(answer).cacheScope, 'private');
  }
  assert.equal(stage.sentOf('tools/list').length, who.length);
});

test('GB-120: a user’s list does not reach another user through the store either', async () => {
  const store = createMemoryStore({ clock: systemClock, warn: () => {} });
  const servers = { s: { tools: ['{"name":"x"}'] } };
  await stageOf({ servers, store }).ask('tools/list', '{}', { subject: 'alice' });
  const other = stageOf({ servers, store });
  await other.ask('tools/list', '{}', { subject: 'bob' });
  assert.equal(other.sentOf('tools/list').length, 1);
  for (const key of await store.scan('lk:{acme}:')) assert.doesNotMatch(key, /alice|bob|idp/);
});

test('a shared server’s list is everybody’s', async () => {
  const stage = stageOf({ servers: { s: { tools: ['{"name":"x"}'] } }, isolation: 'shared' });
  await stage.ask('tools/list', '{}', { subject: 'alice' });
  await stage.ask('tools/list', '{}', { subject: 'bob', capabilities: { roots: {} } });
  assert.equal(stage.sentOf('tools/list').length, 1);
});

test('GB-119: an absent client is not everybody’s client, and two persons without one stay apart', async () => {
  const stage = stageOf({ servers: { s: { tools: ['{"name":"x"}'] } } });
  await stage.ask('tools/list', '{}', { subject: 'alice', client: null });
  await stage.ask('tools/list', '{}', { subject: 'bob', client: null });
  await stage.ask('tools/list', '{}', { subject: 'alice', client: 'app' });
  assert.equal(stage.sentOf('tools/list').length, 3);
  const owners = new Set(stage.sentOf('tools/list').map((r) => r.owner));
  assert.equal(owners.size, 3);
});

test('GB-122: a new token of the same person is the same person to catalogue and link', async () => {
  const stage = stageOf({ servers: { s: { tools: ['{"name":"x"}'] } } });
  for (let i = 0; i < 50; i++) await stage.ask('tools/list');
  assert.equal(new Set(stage.sent.map((r) => r.owner)).size, 1);
  assert.equal(stage.sentOf('tools/list').length, 1);
});

test('what a client may keep is what is left of the server’s ttl, and never more than ours', async () => {
  const servers: Record<string, FakeServer> = { s: { tools: [], ttlMs: 10_000 } };
  const stage = stageOf({ servers, limits: { listTtlMs: 60_000 } });
  assert.equal(read(await stage.ask('tools/list')).ttlMs, 10_000);
  stage.clock.advance(4000);
  assert.equal(read(await stage.ask('tools/list')).ttlMs, 6000);
  stage.clock.advance(6000);
  assert.equal(read(await stage.ask('tools/list')).ttlMs, 10_000);
  assert.equal(stage.sentOf('tools/list').length, 2);
  const capped = stageOf({ servers: { s: { ttlMs: 86_400_000 } }, limits: { listTtlMs: 60_000 } });
  assert.equal(read(await capped.ask('tools/list')).ttlMs, 60_000);
});

test('a list that is stale at once is asked for each time, by one flight for all who wait', async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const before = async (request: { method: string }) => {
    if (request.method === 'tools/list') await gate;
    return undefined;
  };
  const stage = stageOf({ servers: { s: { tools: ['{"name":"x"}'], ttlMs: 0, before } } });
  const many = Array.from({ length: 50 }, () => stage.ask('tools/list'));
  open();
  for (const answer of await Promise.all(many)) assert.deepEqual(names(answer), ['x']);
  assert.equal(stage.sentOf('tools/list').length, 1);
  await stage.ask('tools/list');
  assert.equal(stage.sentOf('tools/list').length, 2);
});

test('one waiter’s leaving does not end the load of the others', async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const before = async (request: { method: string }) => {
    if (request.method === 'tools/list') await gate;
    return undefined;
  };
  const stage = stageOf({ servers: { s: { tools: ['{"name":"x"}'], before } } });
  const leaving = new AbortController();
  const gone = stage.ask('tools/list', '{}', { signal: leaving.signal });
  const stays = stage.ask('tools/list');
  leaving.abort();
  assert.equal(refusalOf(await gone).reason, 'cancelled');
  open();
  assert.deepEqual(names(await stays), ['x']);
});

test('a store that errs or hangs costs a request upstream and nothing else', async () => {
  for (const get of [() => Promise.reject(new Error('down')), () => new Promise<never>(() => {})]) {
    const store = createMemoryStore({ clock: systemClock, warn: () => {} });
    Object.assign(store, { get, set: get });
    const stage = stageOf({ servers: { s: { tools: ['{"name":"x"}'] } }, store, deps: { clock: hasty() } });
    assert.deepEqual(names(await stage.ask('tools/list')), ['x']);
  }
});

/** Timers of a real clock, cut short. */
function hasty(): Clock {
  return { now: systemClock.now, setTimer: (ms, run) => systemClock.setTimer(Math.min(ms, 20), run) };
}

test('GB-132: a refresh that fails leaves the last good list standing, whole, stale and said so', async () => {
  let down = false;
  const before = (request: { method: string }) =>
    down && request.method === 'tools/list' ? fault('lost', { mayHaveRun: true }) : undefined;
  const stage = stageOf({ servers: { s: { tools: ['{"name":"x"}', '{"name":"y"}'], before } } });
  await stage.ask('tools/list');
  down = true;
  stage.clock.advance(61_000);
  const answer = await stage.ask('tools/list');
  assert.deepEqual(names(answer), ['x', 'y']);
  assert.ok(read(answer).ttlMs <= 2000);
  assert.match(
    answer.kind === 'result' ? (answer.meta ?? '') : '',
    /"lockkeeper\/unavailable":\[\{"server":"s","reason":"lost"/,
  );
  stage.clock.advance(11 * 60_000);
  assert.equal(refusalOf(await stage.ask('tools/list')).reason, 'lost');
});

test('who is allowed nothing finds an endpoint with an empty tool list, and no server is started for it', async () => {
  const stage = stageOf({ servers: { s: { tools: ['{"name":"x"}'] } }, policy: [] });
  assert.deepEqual(names(await stage.ask('tools/list')), []);
  assert.deepEqual(read(await stage.ask('server/discover')).capabilities, { tools: {} });
  assert.deepEqual(refusalOf(await stage.ask('tools/call', '{"name":"x"}')), {
    reason: 'unknown-name',
    message: 'Unknown tool: x',
  });
  assert.equal(refusalOf(await stage.ask('prompts/list')).reason, 'unknown-method');
  assert.equal(stage.sent.length, 0);
});

test('a person over the limit of requests in flight is told so, another is not', async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const call = async () => {
    await gate;
    return '"content":[]';
  };
  const stage = stageOf({ servers: { s: { call } }, limits: { maxInFlightPerPrincipal: 2 } });
  const first = [1, 2].map(() => stage.ask('tools/call', '{"name":"t"}'));
  const third = await stage.ask('tools/call', '{"name":"t"}');
  assert.equal(refusalOf(third).reason, 'too-many');
  const other = stage.ask('tools/call', '{"name":"t"}', { subject: 'bob' });
  open();
  for (const answer of await Promise.all([...first, other])) assert.equal(answer.kind, 'result');
  assert.equal((await stage.ask('tools/call', '{"name":"t"}')).kind, 'result');
});

test('an answer that has not been taken counts as in flight', async () => {
  const stage = stageOf({ servers: { s: {} }, limits: { maxInFlightPerPrincipal: 1 } });
  const taken: (() => void)[] = [];
  const ask = () => {
    const exchange = { ...stage.exchange(), replied: (done: () => void) => void taken.push(done) };
    return stage.route.answer(exchange, askOf('tools/call', '{"name":"t"}'), { event: () => {} });
  };
  assert.equal((await ask()).kind, 'result');
  assert.equal(refusalOf(await ask()).reason, 'too-many');
  taken.shift()?.();
  assert.equal((await ask()).kind, 'result');
});
