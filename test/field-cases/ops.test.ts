// Field cases GB-139 to GB-143 on the real stack: what do clients that misbehave leave behind, and what do probes and
// shutdown depend on?

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { eventually, within } from '../harness/eventually.ts';
import { createIssuer } from '../harness/issuer.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { modernRequest } from '../harness/messages.ts';
import { freePort } from '../harness/ports.ts';
import { descendants } from '../harness/process-tree.ts';
import { openRaw, requestBytes, sendRaw } from '../harness/raw.ts';
import { startRedis } from '../harness/redis.ts';
import { assertCalm, call, legacyAsker, modernAsker, server, textOf } from './stage.ts';

const probe = async (url: string, path: string, headers: Record<string, string> = {}) => {
  const response = await sendRaw(`${url}${path}`, { method: 'GET', headers });
  const text = await response.text();
  response.destroy();
  return { status: response.status, text };
};

describe('GB-139: sessions that nobody ends', () => {
  it('end by themselves, with their processes and descriptors', async () => {
    const lockkeeper = await startStandalone({
      servers: [server('visited', 'counter', { isolation: 'session', more: { pool: { idleMs: 1000 } } })],
      limits: { sessionIdleMs: 1500, maxPerServer: 6, queueMs: 20_000 },
    });
    try {
      const at = lockkeeper.route('/acme/visited/mcp');
      const open = () => readdirSync(`/proc/${lockkeeper.process.pid}/fd`).length;
      const children = () => descendants(lockkeeper.process.pid).length;
      const first = await legacyAsker(at);
      assert.equal((await call(first, 'count')).status, 200);
      await eventually(() => assert.equal(children(), 0), { deadlineMs: 15_000, everyMs: 100 });
      const baseline = open();
      for (let round = 0; round < 4; round++) {
        await Promise.all(
          Array.from({ length: 10 }, async () => {
            const { session } = await legacyAsker(at);
            // Its stream is opened and cut.
            const stream = await sendRaw(at, {
              method: 'GET',
              headers: { accept: 'text/event-stream', 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' },
            });
            assert.equal(stream.status, 200);
            stream.destroy();
          }),
        );
      }
      await eventually(
        () => {
          assert.equal(children(), 0);
          assert.ok(open() <= baseline + 3, `${open()} open, ${baseline} before`);
        },
        { deadlineMs: 20_000, everyMs: 100 },
      );
      assert.equal((await call(first, 'count')).status, 404);
      assertCalm(lockkeeper);
    } finally {
      await lockkeeper.stop();
    }
  });
});

describe('GB-140: clients that leave in the middle', () => {
  let lockkeeper: Lockkeeper;
  before(async () => {
    lockkeeper = await startStandalone({
      servers: [server('big', 'big-result', { isolation: 'shared' })],
      limits: { keepAliveMs: 1000 },
    });
  });
  after(() => lockkeeper?.stop());
  const at = () => lockkeeper.route('/acme/big/mcp');
  const open = () => readdirSync(`/proc/${lockkeeper.process.pid}/fd`).length;

  it('of an upload leave no descriptor and no request behind', async () => {
    assert.equal(textOf(await call(modernAsker(at()), 'echo', { text: 'warm' })), 'warm');
    const baseline = open();
    const bytes = requestBytes(at(), modernRequest({ method: 'tools/list' }));
    for (let batch = 0; batch < 10; batch++) {
      await Promise.all(
        Array.from({ length: 30 }, async () => {
          const connection = await openRaw(at());
          connection.write(bytes.subarray(0, bytes.length - 50));
          connection.destroy();
        }),
      );
    }
    await eventually(() => assert.ok(open() <= baseline + 3, `${open()} open, ${baseline} before`), {
      deadlineMs: 10_000,
    });
    const { text } = await probe(lockkeeper.admin, '/metrics');
    assert.match(text, /^lockkeeper_exchange_open 0$/m);
    assertCalm(lockkeeper);
  });

  it('or never read what they asked for are let go, and slow nobody', async () => {
    const baseline = open();
    const wish = { method: 'tools/call', params: { name: 'big', arguments: { size: 5_000_000 } } };
    const slow = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const connection = await openRaw(at());
        connection.socket.pause();
        connection.write(requestBytes(at(), modernRequest({ ...wish, headers: { accept: 'text/event-stream' } })));
        return connection;
      }),
    );
    for (let n = 0; n < 10; n++) assert.equal(textOf(await call(modernAsker(at()), 'echo', { text: `${n}` })), `${n}`);
    await eventually(() => assert.ok(open() <= baseline + 2, `${open()} open, ${baseline} before`), {
      deadlineMs: 15_000,
      everyMs: 100,
    });
    for (const connection of slow) connection.destroy();
  });
});

describe('GB-142, GB-143: probes when everything around is down', () => {
  it('say alive and ready, and a warm modern call is served, with servers, identity provider and Redis gone', async () => {
    const redis = await startRedis();
    const issuer = createIssuer();
    const nowhere = `http://127.0.0.1:${await freePort()}/jwks`;
    let lockkeeper: Lockkeeper | undefined;
    try {
      lockkeeper = await startStandalone({
        servers: [server('good', 'echo-legacy'), { name: 'down', command: 'no-such-command', args: [] }],
        tenants: ['acme'],
        auth: {
          mode: 'jwt',
          issuers: [
            { issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] },
            { issuer: 'https://idp.down.example', jwksUri: nowhere, tenants: ['acme'] },
          ],
        },
        policy: [
          {
            tenant: 'acme',
            groups: ['dev'],
            allow: ['good', 'down'].map((name) => ({ server: name, tools: ['*'], prompts: [], resources: [] })),
          },
        ],
        more: { state: redis.url },
      });
      const { admin } = lockkeeper;
      const url = lockkeeper.route('/acme/good/mcp');
      const ask = modernAsker(url, issuer.token({ audience: url }));
      assert.equal(textOf(await call(ask, 'echo', { text: 'warm' })), 'warm');
      const down = lockkeeper.route('/acme/down/mcp');
      const failed = await call(modernAsker(down, issuer.token({ audience: down })), 'any');
      assert.equal(failed.result?.isError, true);
      await redis.stop();
      for (const path of ['/livez', '/readyz', '/startupz']) {
        for (const host of [undefined, '10.1.2.3:9090', 'pod.ns.svc']) {
          assert.equal((await probe(admin, path, host === undefined ? {} : { host })).status, 200, `${path} ${host}`);
        }
        const old = await openRaw(admin);
        old.write(`GET ${path} HTTP/1.0\r\n\r\n`);
        assert.equal((await old.response()).status, 200, path);
        old.destroy();
      }
      assert.equal(textOf(await within(call(ask, 'echo', { text: 'x' }), 5_000, 'a warm call')), 'x');
      assertCalm(lockkeeper);
    } finally {
      await lockkeeper?.stop();
      issuer.close();
      await redis.stop();
    }
  });
});

describe('GB-141: SIGTERM during calls', () => {
  it('lets calls end, closes idle streams, and ends with 0 well within its time', async () => {
    const lockkeeper = await startStandalone({ servers: [server('told', 'says-anything', { isolation: 'shared' })] });
    try {
      const url = lockkeeper.route('/acme/told/mcp');
      const modern = modernAsker(url);
      const legacy = await legacyAsker(url);
      assert.equal(textOf(await call(modern, 'later', { ms: 0, text: 'warm' })), 'warm');
      const stream = await sendRaw(url, {
        method: 'GET',
        headers: { accept: 'text/event-stream', 'mcp-session-id': legacy.session },
      });
      assert.equal(stream.status, 200);
      const calls = Array.from({ length: 10 }, (_, n) =>
        call(n % 2 === 0 ? modern : legacy, 'later', { ms: 1200, text: `${n}` }, { id: n }),
      );
      await eventually(async () =>
        assert.match((await probe(lockkeeper.admin, '/metrics')).text, /^lockkeeper_exchange_open 10$/m),
      );
      process.kill(lockkeeper.process.pid, 'SIGTERM');
      const answers = await Promise.all(calls);
      assert.deepEqual(
        answers.map(textOf),
        calls.map((_, n) => `${n}`),
      );
      for await (const _ of stream.events()) {
        // until it is closed
      }
      const { code } = await within(lockkeeper.process.exited, 15_000, 'exit');
      assert.equal(code, 0);
    } finally {
      await lockkeeper.stop();
    }
  });
});
