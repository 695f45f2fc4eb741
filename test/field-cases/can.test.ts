// Field cases of class CAN: does a cancel end exactly the call it is meant for, and does one that races its answer leave
// anything behind?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { createIssuer, type Issuer } from '../harness/issuer.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { legacyRequest, modernRequest } from '../harness/messages.ts';
import { openRaw, requestBytes, sendRaw } from '../harness/raw.ts';
import { assertCalm, call, legacyAsker, modernAsker, server, textOf } from './stage.ts';

let lockkeeper: Lockkeeper;
let issuer: Issuer;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);
const alone = { isolation: 'shared', more: { pool: { max: 1 } } } as const;
const tokenOf = (sub: string, name: string) => issuer.token({ sub, audience: at(name) });

before(async () => {
  issuer = createIssuer();
  const names = ['waits', 'told', 'single'];
  lockkeeper = await startStandalone({
    servers: [
      server('waits', 'never-answers', alone),
      server('told', 'says-anything', alone),
      server('single', 'says-anything', { isolation: 'exclusive', more: { pool: { max: 1 } } }),
    ],
    auth: { mode: 'jwt', issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] }] },
    policy: [
      {
        tenant: 'acme',
        groups: ['dev'],
        allow: names.map((name) => ({ server: name, tools: ['*'], prompts: ['*'], resources: ['*'] })),
      },
    ],
    limits: { queueMs: 3000 },
  });
});
after(async () => {
  await lockkeeper?.stop();
  issuer?.close();
});

describe('GB-087: a cancel', () => {
  it('ends the call of the session that sent it, whatever ids others use, and unknown ids are ignored', async () => {
    const person = async (sub: string) => {
      const token = tokenOf(sub, 'waits');
      const ask = await legacyAsker(at('waits'), { token });
      const { session } = ask;
      const common = { session, token, revision: '2025-11-25' };
      const cancel = async (requestId: unknown, as = token) => {
        const message = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } };
        const response = await sendRaw(at('waits'), legacyRequest({ ...common, token: as, message }));
        response.destroy();
        return response.status;
      };
      const wait = async () => {
        const connection = await openRaw(at('waits'));
        const message = { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 'wait', arguments: {} } };
        connection.write(requestBytes(at('waits'), legacyRequest({ ...common, message })));
        return connection;
      };
      return { ask, cancel, wait };
    };
    const alice = await person('alice');
    const bob = await person('bob');
    const cancels = async () =>
      (JSON.parse(textOf(await call(alice.ask, 'cancelled', {}, { id: 99 }))) as unknown[]).length;
    const calls = [await alice.wait(), await bob.wait()];
    let bobHeard = false;
    const bobAnswer = calls[1]!.response().then(async (response) => {
      const text = await response.text();
      bobHeard = true;
      return text;
    });
    try {
      // Both have reached the server when a cancel of Alice's does.
      await eventually(async () => {
        assert.equal(await alice.cancel(5), 202);
        assert.equal(await cancels(), 1);
      });
      const ended = await (await calls[0]!.response()).text();
      assert.doesNotMatch(ended, /"id":5/);
      for (const id of [...Array.from({ length: 51 }, (_, n) => n).filter((n) => n !== 5), '5', 'x', null]) {
        assert.equal(await alice.cancel(id), 202);
      }
      // Bob's session in Alice's hands is nobody's.
      assert.equal(await bob.cancel(5, tokenOf('alice', 'waits')), 404);
      assert.equal(await cancels(), 1);
      assert.equal(bobHeard, false);
      assert.equal(await bob.cancel(5), 202);
      await eventually(async () => assert.equal(await cancels(), 2));
      assert.doesNotMatch(await bobAnswer, /"id":5/);
    } finally {
      for (const connection of calls) connection.destroy();
    }
  });
});

describe('GB-088: an answer that races the end of its request', () => {
  const later = (ms: number, text: string) => ({
    method: 'tools/call',
    params: { name: 'later', arguments: { ms, text } },
  });
  const inFlight = async () => {
    const response = await sendRaw(`${lockkeeper.admin}/metrics`, { method: 'GET' });
    const text = await response.text();
    response.destroy();
    return Number(/^lockkeeper_exchange_open (\d+)/m.exec(text)?.[1]);
  };

  it('leaves nothing in flight, and the next call gets its own answer', async () => {
    const token = tokenOf('alice', 'told');
    const ask = modernAsker(at('told'), token);
    assert.equal(textOf(await call(ask, 'later', { ms: 0, text: 'warm' })), 'warm');
    const round = async (n: number) => {
      const connection = await openRaw(at('told'));
      connection.write(requestBytes(at('told'), modernRequest({ ...later((n * 7) % 20, `round ${n}`), token })));
      // It leaves when another's answer has come: how long that takes, beside its own, is what the rounds vary.
      const text = `beside ${n}`;
      assert.equal(textOf(await call(ask, 'later', { ms: (n * 11) % 20, text })), text);
      connection.destroy();
    };
    for (let batch = 0; batch < 10; batch++)
      await Promise.all(Array.from({ length: 20 }, (_, n) => round(batch * 20 + n)));
    assert.equal(textOf(await call(ask, 'later', { ms: 0, text: 'mine' })), 'mine');
    await eventually(async () => assert.equal(await inFlight(), 0));
    assertCalm(lockkeeper);
  });

  it('gives its slot back also when it was still waiting for one', async () => {
    const token = tokenOf('alice', 'single');
    const ask = modernAsker(at('single'), token);
    const busy = call(ask, 'later', { ms: 1000, text: 'busy' });
    const queued = await Promise.all(
      [1, 2, 3].map(async (n) => {
        const connection = await openRaw(at('single'));
        connection.write(requestBytes(at('single'), modernRequest({ ...later(0, `queued ${n}`), token })));
        return connection;
      }),
    );
    await eventually(async () => assert.ok((await inFlight()) >= 4));
    for (const connection of queued) connection.destroy();
    assert.equal(textOf(await busy), 'busy');
    assert.equal(textOf(await call(ask, 'later', { ms: 0, text: 'mine' })), 'mine');
    await eventually(async () => assert.equal(await inFlight(), 0));
  });
});
