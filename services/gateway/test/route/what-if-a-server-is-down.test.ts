import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { askOf, type FakeServer, fault, metaOf, names, read, refusalOf, snapshotOf, stageOf } from './stage.ts';

const ALL = { route: '/all' };
const down = () => fault('start-failed', { message: 'exited with code 1' });
const WHY = 'server "b" could not be started: exited with code 1.';

function halfDown() {
  const servers: Record<string, FakeServer> = {
    a: { tools: ['{"name":"t"}'], resources: ['{"uri":"x://1"}'] },
    b: { tools: ['{"name":"t"}'], before: down },
    c: { tools: ['{"name":"u"}'] },
  };
  return stageOf({ servers });
}

test('the healthy part of an aggregate is served for a short time, and the missing one is named', async () => {
  const stage = halfDown();
  const answer = await stage.ask('tools/list', '{}', ALL);
  assert.deepEqual(names(answer), ['a__t', 'c__u']);
  assert.ok(read(answer).ttlMs <= 2000);
  assert.deepEqual(metaOf(answer)['lockkeeper/unavailable'], [{ server: 'b', reason: 'start-failed', message: WHY }]);
  assert.equal((await stage.ask('tools/call', '{"name":"a__t"}', ALL)).kind, 'result');
});

test('a call to the missing one is refused by its name', async () => {
  const stage = halfDown();
  for (const [method, params] of [
    ['tools/call', '{"name":"b__t"}'],
    ['prompts/get', '{"name":"b__p"}'],
    ['resources/read', '{"uri":"x://1#lk.b"}'],
  ] as const) {
    assert.deepEqual(refusalOf(await stage.ask(method, params, ALL)), { reason: 'start-failed', message: WHY });
  }
});

test('who asked for logs is told by a log, others are not', async () => {
  const heard: string[] = [];
  const listener = { event: (method: string, m: Uint8Array) => void heard.push(`${method} {${Buffer.from(m)}}`) };
  await halfDown().ask('tools/list', '{}', { ...ALL, listener });
  assert.deepEqual(heard, []);
  await halfDown().ask('tools/list', '{}', { ...ALL, listener, logLevel: 'info' });
  assert.equal(heard.length, 1);
  assert.match(
    heard[0]!,
    /^notifications\/message \{"level":"warning","logger":"lockkeeper","data":"Server \\"b\\" is left out/,
  );
});

test('a server that is slow is not waited for, and its list is there for the next caller', async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const before = async (r: { method: string }) => {
    if (r.method === 'tools/list') await gate;
    return undefined;
  };
  const stage = stageOf({ servers: { a: { tools: ['{"name":"t"}'] }, b: { tools: ['{"name":"t"}'], before } } });
  const first = stage.ask('tools/list', '{}', ALL);
  await eventually(() => stage.sentOf('tools/list').length === 2);
  stage.clock.advance(10_000);
  assert.deepEqual(names(await first), ['a__t']);
  open();
  await eventually(async () => names(await stage.ask('tools/list', '{}', ALL)).length === 2);
  assert.equal(stage.sentOf('tools/list').length, 2);
});

test('a dead server is not knocked at by every caller, and is found again when it lives', async () => {
  const servers: Record<string, FakeServer> = { s: { tools: ['{"name":"t"}'], before: down } };
  const stage = stageOf({ servers });
  for (let i = 0; i < 20; i++) assert.equal(refusalOf(await stage.ask('tools/list')).reason, 'start-failed');
  assert.equal(stage.sent.length, 1);
  delete servers.s!.before;
  stage.clock.advance(1000);
  assert.deepEqual(names(await stage.ask('tools/list')), ['t']);
});

test('a stale configuration is tried once more with the newest, route, policy and digest alike', async () => {
  const servers: Record<string, FakeServer> = { s: { tools: ['{"name":"t"}'] } };
  const stage = stageOf({ servers });
  servers.s!.before = (r) => (r.digest === 'digest-of-s' ? fault('stale-config') : undefined);
  const old = stage.exchange();
  const next = snapshotOf({ servers }, '2');
  const spec = { ...next.servers.get('acme/s')!, digest: 'newer' };
  stage.snapshot = { ...next, servers: new Map([['acme/s', spec]]) };
  const answer = await stage.route.answer(old, askOf('tools/call', '{"name":"t"}'), { event: () => {} });
  assert.equal(answer.kind, 'result');
  assert.equal(stage.sentOf('tools/call')[0]!.digest, 'newer');
});

test('when the node does not catch up either, the server is unavailable for now', async () => {
  const stage = stageOf({ servers: { s: { before: () => fault('stale-config') } } });
  const asking = stage.ask('tools/call', '{"name":"t"}');
  await eventually(() => {
    stage.clock.advance(250);
    return stage.sent.length === 2;
  });
  assert.equal(refusalOf(await asking).reason, 'unavailable');
});

test('a route that is gone from the newest configuration is unavailable', async () => {
  const stage = stageOf({ servers: { s: { before: () => fault('stale-config') } } });
  const old = stage.exchange();
  stage.snapshot = { ...stage.snapshot, version: '2', routes: [] };
  const answer = await stage.route.answer(old, askOf('tools/list', '{}'), { event: () => {} });
  assert.equal(refusalOf(answer).reason, 'unavailable');
});

test('a server that never starts lets one list wait, and the next ones are served at once until it has started', async () => {
  let start = (): void => {};
  const pending = new Promise<undefined>((resolve) => {
    start = () => resolve(undefined);
  });
  const servers: Record<string, FakeServer> = {
    a: { tools: ['{"name":"t"}'] },
    b: { tools: ['{"name":"u"}'], before: () => pending },
  };
  const stage = stageOf({ servers });
  const list = async (ms: number) => {
    const answering = stage.ask('tools/list', '{}', ALL);
    let settled = false;
    void answering.then(() => (settled = true));
    for (let i = 0; i < 5; i++) await new Promise((resume) => setImmediate(resume));
    assert.equal(settled, false);
    stage.clock.advance(ms);
    return await answering;
  };
  for (const answer of [await list(10_000), await list(100), await list(100)]) {
    assert.deepEqual(names(answer), ['a__t']);
    const [missing] = metaOf(answer)['lockkeeper/unavailable'] as { server: string; reason: string }[];
    assert.deepEqual([missing?.server, missing?.reason], ['b', 'starting']);
  }
  const discovering = stage.ask('server/discover', '{}', ALL);
  for (let i = 0; i < 5; i++) await new Promise((resume) => setImmediate(resume));
  stage.clock.advance(100);
  assert.deepEqual(Object.keys(read(await discovering).capabilities).includes('tools'), true);
  start();
  await eventually(async () => names(await stage.ask('tools/list', '{}', ALL)).length === 2, { deadlineMs: 5000 });
});
