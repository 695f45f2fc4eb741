// What does `initialize` of each legacy revision get, and which version headers may come after it? (protocol.md §3.1,
// §3.5)

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { call, greeting, open, post, request } from './client.ts';
import { a, json, useOneWorld, world } from './one-world.ts';

useOneWorld();

describe('initialize', () => {
  const OFFERS: readonly [offered: string, path: string | undefined, agreed: string][] = [
    ['2025-11-25', undefined, '2025-11-25'],
    ['2025-06-18', undefined, '2025-06-18'],
    ['2025-03-26', undefined, '2025-03-26'],
    ['2024-11-05', undefined, '2024-11-05'],
    ['2026-07-28', undefined, '2025-11-25'],
    ['1999-01-01', undefined, '2025-11-25'],
    ['2025-11-25', '/acme/other/mcp', '2025-06-18'],
    ['2024-11-05', '/acme/other/mcp', '2025-06-18'],
  ];
  for (const [offered, path, agreed] of OFFERS) {
    test(`offered ${offered}${path === undefined ? '' : ' on a narrower route'}: ${agreed} is agreed`, async () => {
      const answer = await post(a, greeting(offered), path === undefined ? {} : { path });
      assert.equal(answer.status, 200);
      assert.match(answer.headers.get('mcp-session-id') ?? '', /^[A-Za-z0-9_-]{43}$/);
      assert.equal((await json(answer)).result?.protocolVersion, agreed);
    });
  }

  test('the result holds only what the revision knows', async () => {
    const newest = (await json(await post(a, greeting('2025-11-25')))).result;
    assert.deepEqual(newest, {
      protocolVersion: '2025-11-25',
      capabilities: { tools: { listChanged: true }, logging: {}, completions: {}, resources: { subscribe: true } },
      serverInfo: { name: 'lockkeeper', version: '1.2.3', title: 'Lockkeeper', websiteUrl: 'https://x.example' },
      instructions: 'Mind the gap.',
    });
    const oldest = (await json(await post(a, greeting('2024-11-05')))).result;
    assert.deepEqual(oldest?.capabilities, {
      tools: { listChanged: true },
      logging: {},
      resources: { subscribe: true },
    });
    assert.deepEqual(oldest?.serverInfo, { name: 'lockkeeper', version: '1.2.3' });
  });

  test('what the client declared reaches the walk, cut to the revision', async () => {
    const declared = {
      elicitation: { form: {}, url: {} },
      sampling: { tools: {} },
      roots: { listChanged: true },
      tasks: {},
    };
    for (const [revision, capabilities] of [
      ['2025-11-25', { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: { listChanged: true } }],
      ['2025-06-18', { elicitation: {}, sampling: {}, roots: { listChanged: true } }],
      ['2025-03-26', { sampling: {}, roots: { listChanged: true } }],
    ] as const) {
      const session = await open(a, revision, declared);
      await (await post(a, call(1, 'echo'), { session })).text();
      assert.deepEqual(world.upstream.seen.at(-1)?.exchange.capabilities, capabilities);
    }
  });

  const BAD: readonly [id: string, params: unknown][] = [
    ['no version', { capabilities: {} }],
    ['a version that is no string', { protocolVersion: 1, capabilities: {} }],
    ['capabilities that are no object', { protocolVersion: '2025-11-25', capabilities: [] }],
    [
      'capabilities that are a load',
      { protocolVersion: '2025-11-25', capabilities: { experimental: { x: { y: 'z'.repeat(40_000) } } } },
    ],
  ];
  for (const [id, params] of BAD) {
    test(`${id} is -32602, and no session comes to be`, async () => {
      const answer = await post(a, request('i', 'initialize', params));
      assert.equal(answer.headers.get('mcp-session-id'), null);
      const body = await json(answer);
      assert.equal(body.error?.code, -32602);
      assert.equal(body.id, 'i');
    });
  }

  test('with a modern version header it is contradictory: 400, -32020', async () => {
    const answer = await post(a, greeting(), { version: '2026-07-28' });
    assert.equal(answer.status, 400);
    assert.equal((await json(answer)).error?.code, -32020);
  });

  test('a server that does not start is said in the reply, and no session comes to be', async () => {
    const message = 'server everything could not be started: exit code 3';
    world.upstream.info = { kind: 'refusal', refusal: { reason: 'start-failed', message } };
    const answer = await post(a, greeting());
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('mcp-session-id'), null);
    const body = await json(answer);
    assert.equal(body.error?.code, 10003);
    assert.match(body.error?.message ?? '', /could not be started: exit code 3/);
  });
});

describe('the record of an initialize', () => {
  const status = () => world.upstream.audit.map((row) => [row.method, row.outcome, row.status]);

  for (const accept of [undefined, 'text/event-stream', 'application/json']) {
    test(`has the status that was sent to one who accepts ${accept ?? 'both'}`, async () => {
      world.upstream.audit.length = 0;
      const answer = await post(a, greeting(), accept === undefined ? {} : { accept });
      await answer.text();
      assert.deepEqual(status(), [['initialize', 'ok', answer.status]]);
    });
  }

  test('has the status of a refusal, too', async () => {
    for (const [refusal, sent] of [
      [{ reason: 'start-failed' }, 200],
      [{ reason: 'too-many' }, 429],
      [{ reason: 'unreadable' }, 503],
    ] as const) {
      world.upstream.audit.length = 0;
      world.upstream.info = { kind: 'refusal', refusal };
      const answer = await post(a, greeting());
      await answer.text();
      assert.equal(answer.status, sent);
      assert.deepEqual(status(), [['initialize', refusal.reason, sent]]);
    }
  });
});

describe('the version header', () => {
  const ROWS: readonly [session: string, header: string | undefined, status: number][] = [
    ['2025-11-25', undefined, 200],
    ['2025-11-25', '2025-11-25', 200],
    ['2025-11-25', '2025-06-18', 400],
    ['2025-11-25', 'yesterday', 400],
    ['2025-06-18', '2025-06-18', 200],
    ['2025-06-18', '2025-11-25', 400],
    ['2025-03-26', 'anything', 200],
    ['2024-11-05', undefined, 200],
  ];
  for (const [revision, header, status] of ROWS) {
    test(`${header ?? 'none'} in a session of ${revision}: ${status}`, async () => {
      const session = await open(a, revision);
      const answer = await post(a, request(1, 'ping'), {
        session,
        ...(header === undefined ? {} : { version: header }),
      });
      assert.equal(answer.status, status);
      const body = await json(answer);
      assert.equal(body.id, 1);
      if (status === 400) assert.equal(body.error?.code, -32600);
    });
  }
});
