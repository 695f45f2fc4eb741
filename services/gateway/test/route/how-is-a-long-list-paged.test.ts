import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import type { Answer } from '../../src/exchange.ts';
import { allow, manualClock, names, read, refusalOf, type Scene, type Stage, stageOf } from './stage.ts';

const tools = (count: number, prefix = 't') => Array.from({ length: count }, (_, i) => `{"name":"${prefix}${i}"}`);

async function walk(stage: Stage, more: object = {}, each?: (answer: Answer) => void): Promise<string[]> {
  const all: string[] = [];
  let params = '{}';
  for (let page = 0; page < 100; page++) {
    const answer = await stage.ask('tools/list', params, more);
    each?.(answer);
    all.push(...names(answer));
    const { nextCursor } = read(answer);
    if (nextCursor === undefined) return all;
    params = JSON.stringify({ cursor: nextCursor });
  }
  throw new Error('the list has no end');
}

test('GB-129 GB-132: every item once, in order, and the last page has no cursor', async () => {
  const stage = stageOf({ servers: { s: { tools: tools(700) } }, limits: { pageSize: 64 } });
  const sizes: number[] = [];
  assert.deepEqual(
    await walk(stage, {}, (answer) => void sizes.push(names(answer).length)),
    tools(700).map((t) => JSON.parse(t).name),
  );
  assert.deepEqual(sizes, [...Array(10).fill(64), 60]);
  const exact = stageOf({ servers: { s: { tools: tools(64) } }, limits: { pageSize: 64 } });
  assert.equal(read(await exact.ask('tools/list')).nextCursor, undefined);
});

test('GB-132: a list that fits comes in one page', async () => {
  const stage = stageOf({ servers: { s: { tools: tools(700) } } });
  assert.equal(names(await stage.ask('tools/list')).length, 700);
});

test('GB-135: a page stays near a megabyte, and one large item still goes', async () => {
  const heavy = (size: number, i: number) => `{"name":"t${i}","description":"${'x'.repeat(size)}"}`;
  const sizes = [400_000, 400_000, 400_000, 1_500_000, 10];
  const stage = stageOf({ servers: { s: { tools: sizes.map(heavy) } } });
  const pages: string[][] = [];
  await walk(stage, {}, (answer) => void pages.push(names(answer)));
  assert.deepEqual(pages, [['t0', 't1'], ['t2'], ['t3'], ['t4']]);
});

test('pages of an aggregate go on from server to server', async () => {
  const servers = { a: { tools: tools(5) }, b: { tools: tools(3) }, c: { tools: [] }, d: { tools: tools(4) } };
  const stage = stageOf({ servers, limits: { pageSize: 4 } });
  const all = await walk(stage, { route: '/all' });
  const expected = (['a', 'b', 'd'] as const).flatMap((s) =>
    servers[s].tools.map((t) => `${s}__${JSON.parse(t).name}`),
  );
  assert.deepEqual(all, expected);
});

test('P-16: filtering comes first, so pages are full and no cursor leads to an empty one', async () => {
  const policy = [{ name: 'r', tenant: 'acme', groups: ['dev'], allow: [allow('s', { tools: ['keep*'] })] }];
  const mixed = Array.from({ length: 40 }, (_, i) => `{"name":"${i % 10 === 0 ? 'keep' : 'hide'}${i}"}`);
  const stage = stageOf({ servers: { s: { tools: mixed } }, policy, limits: { pageSize: 2 } });
  const pages: string[][] = [];
  await walk(stage, {}, (answer) => void pages.push(names(answer)));
  assert.deepEqual(pages, [
    ['keep0', 'keep10'],
    ['keep20', 'keep30'],
  ]);
});

async function firstCursor(stage: Stage, more: object = {}, method = 'tools/list'): Promise<string> {
  return read(await stage.ask(method, '{}', more)).nextCursor;
}

test('T-33: a cursor is good for its list, route, person, client and policy view alone', async () => {
  const prompts = tools(9);
  const policy = [
    { name: 'r', tenant: 'acme', groups: ['dev'], allow: [allow('s')] },
    { name: 'extra', tenant: 'acme', groups: ['lead'], allow: [allow('s', { tools: ['x'] })] },
  ];
  const stage = stageOf({ servers: { s: { tools: tools(9), prompts } }, policy, limits: { pageSize: 3 } });
  const cursor = await firstCursor(stage);
  const params = JSON.stringify({ cursor });
  assert.deepEqual(names(await stage.ask('tools/list', params)), ['t3', 't4', 't5']);
  const foreign: [string, object][] = [
    ['prompts/list', {}],
    ['tools/list', { subject: 'bob' }],
    ['tools/list', { client: 'other' }],
    ['tools/list', { route: '/all' }],
    ['tools/list', { groups: ['dev', 'lead'] }],
  ];
  for (const [method, more] of foreign) {
    assert.equal(refusalOf(await stage.ask(method, params, more)).reason, 'bad-cursor', JSON.stringify([method, more]));
  }
  stage.clock.advance(60 * 60 * 1000);
  assert.equal(refusalOf(await stage.ask('tools/list', params)).reason, 'bad-cursor');
});

test('what is no cursor of ours is a bad one: the empty string, a number, a server’s own', async () => {
  const stage = stageOf({ servers: { s: { tools: tools(3) } } });
  for (const params of [
    '{"cursor":""}',
    '{"cursor":7}',
    '{"cursor":null}',
    '{"cursor":"page2"}',
    '{"cursor":"lk1.a.AA"}',
  ]) {
    assert.equal(refusalOf(await stage.ask('tools/list', params)).reason, 'bad-cursor', params);
  }
});

test('a cursor does not survive a change of its list, and does survive a renewal without one', async () => {
  const servers = { s: { tools: tools(6), ttlMs: 0 } };
  const stage = stageOf({ servers, limits: { pageSize: 4 } });
  const cursor = JSON.stringify({ cursor: await firstCursor(stage) });
  stage.clock.advance(20 * 60 * 1000);
  assert.deepEqual(names(await stage.ask('tools/list', cursor)), ['t4', 't5']);
  servers.s.tools = tools(7, 'u');
  await stage.ask('tools/list');
  assert.equal(refusalOf(await stage.ask('tools/list', cursor)).reason, 'bad-cursor');
});

test('a cursor of one replica works on another that has never seen the list', async () => {
  const clock = manualClock();
  const store = createMemoryStore({ clock, warn: () => {} });
  const scene: Scene = { servers: { s: { tools: tools(6) } }, limits: { pageSize: 4 }, store };
  const cursor = await firstCursor(stageOf(scene));
  const other = stageOf(scene);
  assert.deepEqual(names(await other.ask('tools/list', JSON.stringify({ cursor }))), ['t4', 't5']);
  assert.equal(other.sentOf('tools/list').length, 0);
});
