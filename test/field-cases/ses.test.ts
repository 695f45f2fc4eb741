// Field cases of class SES: is a legacy session the same on every replica, its owner's alone, and gone only when it has
// ended? GB-002, 004, 005, 006, 012 and 013 are about sessions of remote servers and are not here.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually, within } from '../harness/eventually.ts';
import { createIssuer, type Issuer } from '../harness/issuer.ts';
import { type Cluster, startCluster } from '../harness/lockkeeper.ts';
import { callLegacy, legacyRequest, modernRequest, openLegacySession } from '../harness/messages.ts';
import { openRaw, requestBytes, sendRaw } from '../harness/raw.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';
import { type RedisAdmin, redisAdmin } from './redis-admin.ts';
import { call, legacyAsker, modernAsker, namesOf, server, textOf } from './stage.ts';

const REVISION = '2025-11-25';

let redis: StartedRedis;
let issuer: Issuer;
let cluster: Cluster;
let admin: RedisAdmin;
const at = (gateway: number, path = '/acme/frail/mcp') => cluster.gateways[gateway]!.route(path);
const tokenOf = (sub: string, path?: string) => issuer.token({ sub, audience: at(0, path) });

before(async () => {
  redis = await startRedis();
  admin = await redisAdmin(redis.url);
  issuer = createIssuer();
  cluster = await startCluster({
    gateways: 3,
    poolManagers: 1,
    redis: redis.url,
    servers: [server('frail', 'crashes-mid-call'), server('waits', 'never-answers', { isolation: 'shared' })],
    auth: { mode: 'jwt', issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] }] },
    policy: [
      {
        tenant: 'acme',
        groups: ['dev'],
        allow: ['frail', 'waits'].map((name) => ({ server: name, tools: ['*'], prompts: ['*'], resources: ['*'] })),
      },
    ],
  });
});
after(async () => {
  await cluster?.stop();
  issuer?.close();
  admin?.close();
  await redis?.stop();
});

interface Opened {
  readonly session: string;
  readonly token: string;
  /** A request of that session through any gateway. */
  ask(gateway: number, method: string, params?: object): ReturnType<typeof callLegacy>;
}

async function open(sub: string, gateway: number, path?: string): Promise<Opened> {
  const token = tokenOf(sub, path);
  const { session, message } = await openLegacySession(at(gateway, path), { token });
  assert.ok(session !== null, JSON.stringify(message));
  const ask: Opened['ask'] = (on, method, params = {}) =>
    callLegacy(at(on, path), {
      session,
      token,
      revision: REVISION,
      message: { jsonrpc: '2.0', id: 2, method, params },
    });
  return { session, token, ask };
}

const raw = async (gateway: number, request: Parameters<typeof sendRaw>[1]) => {
  const response = await sendRaw(at(gateway), request);
  response.destroy();
  return response.status;
};

describe('GB-001: a session and replicas', () => {
  it('is the same on all of them, streams and calls alike', async () => {
    const { session, token, ask } = await open('alice', 0);
    const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
    assert.equal(await raw(1, legacyRequest({ session, token, revision: REVISION, message: initialized })), 202);
    for (const gateway of [1, 2, 0]) assert.equal((await ask(gateway, 'tools/list')).status, 200);
    const stream = await sendRaw(at(0), {
      method: 'GET',
      headers: { accept: 'text/event-stream', 'mcp-session-id': session, authorization: `Bearer ${token}` },
    });
    assert.equal(stream.status, 200);
    const called = await ask(1, 'tools/call', { name: 'echo', arguments: { text: 'x' } });
    assert.equal(textOf({ ...called, result: called.message?.result } as never), 'x');
    stream.destroy();
  });

  it('is nothing to a modern request', async () => {
    const { session, token } = await open('alice', 0);
    for (const id of [session, 'zzz']) {
      const response = await sendRaw(
        at(1),
        modernRequest({ method: 'tools/list', token, headers: { 'mcp-session-id': id } }),
      );
      response.destroy();
      assert.equal(response.status, 200);
      assert.ok(!response.headers.has('mcp-session-id'));
    }
  });
});

describe('GB-007: a session after failures', () => {
  it('goes on: after its client left a call, after its process died', async () => {
    const { session, token, ask } = await open('bob', 0);
    const connection = await openRaw(at(0));
    const slow = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'close', arguments: {} } };
    connection.write(requestBytes(at(0), legacyRequest({ session, token, revision: REVISION, message: slow })));
    connection.destroy();
    const crashed = await ask(1, 'tools/call', { name: 'crash', arguments: {} });
    assert.equal((crashed.message!.result as { isError: boolean }).isError, true);
    await eventually(async () => {
      const fast = await ask(2, 'tools/call', { name: 'echo', arguments: { text: 'fast' } });
      assert.equal(textOf({ ...fast, result: fast.message?.result } as never), 'fast');
    });
  });
});

describe('GB-008: a client that never echoes its session id', () => {
  it('lists and calls all the same, and is told in JSON-RPC what it cannot do', async () => {
    const token = tokenOf('carol');
    await openLegacySession(at(0), { token, revision: '2025-06-18' });
    const ask = (method: string, params = {}) =>
      callLegacy(at(1), { token, revision: '2025-06-18', message: { jsonrpc: '2.0', id: 3, method, params } });
    const listed = await ask('tools/list');
    assert.ok(namesOf({ ...listed, result: listed.message?.result } as never).includes('echo'));
    const called = await ask('tools/call', { name: 'echo', arguments: { text: 'x' } });
    assert.equal(textOf({ ...called, result: called.message?.result } as never), 'x');
    for (const method of ['resources/subscribe', 'logging/setLevel']) {
      const refused = await ask(method, { uri: 'a://b', level: 'info' });
      assert.equal(refused.status, 400);
      const { id, error } = refused.message as { id: number; error: { message: string } };
      assert.equal(id, 3);
      assert.match(error.message, /initialize/);
    }
  });
});

describe("GB-010: another person's session", () => {
  it("is unknown to Bob, by whatever verb and spelling, and still Alice's", async () => {
    const { session, token, ask } = await open('alice', 0);
    const bob = tokenOf('bob');
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'x' } } };
    const ids = [
      session,
      `${session}%26owner=bob`,
      `${session}&owner=bob`,
      session.toUpperCase(),
      `${session},${session}`,
    ];
    for (const id of ids) {
      assert.equal(await raw(1, legacyRequest({ session: id, token: bob, revision: REVISION, message })), 404, id);
      const headers = { accept: 'text/event-stream', 'mcp-session-id': id, authorization: `Bearer ${bob}` };
      for (const method of ['GET', 'DELETE']) assert.equal(await raw(1, { method, headers }), 404, `${method} ${id}`);
    }
    // A line break in a header is two headers, whoever writes it.
    const split = {
      headers: [
        ['mcp-session-id', `x\r\nmcp-session-id: ${session}`],
        ['authorization', `Bearer ${bob}`],
        ['content-type', 'application/json'],
        ['accept', '*/*'],
      ] as const,
      body: JSON.stringify(message),
    };
    assert.ok([400, 404].includes(await raw(1, split)));
    assert.equal(await raw(1, legacyRequest({ session, revision: REVISION, message })), 401);
    assert.equal((await ask(2, 'tools/list')).status, 200);
    assert.ok(token);
  });
});

describe('GB-011: the messages endpoint of HTTP+SSE', () => {
  it('asks for a token at every POST, and is 404 for another person', async () => {
    const token = tokenOf('alice');
    const base = at(0).replace(/\/mcp$/, '');
    const connection = await openRaw(base);
    connection.write(
      requestBytes(`${base}/sse`, {
        method: 'GET',
        headers: { accept: 'text/event-stream', authorization: `Bearer ${token}` },
      }),
    );
    const response = await connection.response();
    const events = response.events();
    const { value } = await within(events.next(), 5_000, 'endpoint event');
    const messages = new URL((value as { data: string }).data, base).href;
    const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    const post = async (bearer: string | undefined) => {
      const headers: Record<string, string> = { 'content-type': 'application/json' };
      if (bearer !== undefined) headers.authorization = `Bearer ${bearer}`;
      const answer = await sendRaw(messages, { headers, body: message });
      answer.destroy();
      return answer.status;
    };
    assert.equal(await post(undefined), 401);
    assert.equal(await post(tokenOf('bob')), 404);
    assert.equal(await post(token), 202);
    // The first thing on the stream is the answer to Alice's own.
    const next = await within(events.next(), 5_000, 'answer');
    assert.deepEqual(JSON.parse((next.value as { data: string }).data), { jsonrpc: '2.0', id: 1, result: {} });
    connection.destroy();
  });
});

describe('GB-087 across replicas, GB-014: hints and death', () => {
  it('a cancel on another replica is heard, also when the channels were cut', async () => {
    const path = '/acme/waits/mcp';
    const { session, token, ask } = await open('dave', 0, path);
    assert.ok(Number(await admin.run('CLIENT', 'KILL', 'TYPE', 'pubsub')) > 0);
    const connection = await openRaw(at(0, path));
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'wait', arguments: {} } };
    connection.write(requestBytes(at(0, path), legacyRequest({ session, token, revision: REVISION, message })));
    const cancelled = async () => {
      const { message: answer } = await ask(2, 'tools/call', { name: 'cancelled', arguments: {} });
      return JSON.parse((answer!.result as { content: { text: string }[] }).content[0]!.text) as unknown[];
    };
    await eventually(
      async () => {
        const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
        const response = await sendRaw(
          at(1, path),
          legacyRequest({ session, token, revision: REVISION, message: cancel }),
        );
        response.destroy();
        assert.equal(response.status, 202);
        assert.equal((await cancelled()).length, 1);
      },
      { deadlineMs: 15_000, everyMs: 200 },
    );
    const ended = await (await connection.response()).text();
    assert.doesNotMatch(ended, /"id":7/);
    connection.destroy();
  });

  it('GB-003, GB-014: a session of a replica that is killed is served by the others at once, and every key has an end', async () => {
    const { ask } = await open('alice', 2);
    const calm = await legacyAsker(at(0), { token: tokenOf('erin') });
    await cluster.gateways[2]!.process.kill();
    const asked = Array.from({ length: 20 }, (_, n) => ask(n % 2, 'tools/list'));
    const answers = await within(Promise.all(asked), 15_000, 'twenty answers');
    for (const { status } of answers) assert.equal(status, 200);
    assert.equal(textOf(await call(calm, 'echo', { text: 'x' })), 'x');
    assert.equal(textOf(await call(modernAsker(at(1), tokenOf('alice')), 'echo', { text: 'x' })), 'x');
    // What the job queue keeps of itself is as many keys whatever happens.
    const keys = ((await admin.run('KEYS', 'lk:*')) as string[]).filter((key) => !key.startsWith('lk:{jobs}:'));
    assert.ok(keys.length > 0);
    for (const key of keys) assert.ok(Number(await admin.run('PTTL', key)) > 0, `${key} has no end`);
  });
});
