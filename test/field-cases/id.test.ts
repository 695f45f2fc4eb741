// Field cases of class ID: does every answer reach the request it belongs to, under the id that was sent, whatever ids
// clients and servers choose?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { within } from '../harness/eventually.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { callLegacy, openLegacySession } from '../harness/messages.ts';
import { asker, call, ERAS, legacyAsker, modernAsker, seenBy, server, textOf } from './stage.ts';

const IDS = [0, 1, '0', '1', 'req-abc', '', '01', -5, 2147483648, '😀'];

let lockkeeper: Lockkeeper;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);

before(async () => {
  lockkeeper = await startStandalone({
    servers: [
      server('shared', 'says-anything', { isolation: 'shared', more: { pool: { max: 1 } } }),
      server('modern', 'says-anything', { isolation: 'shared', env: { ERA: 'modern' }, more: { pool: { max: 1 } } }),
      server('errors', 'returns-errors'),
      server('pings', 'says-anything'),
      server('wrong', 'answers-twice', { isolation: 'shared', more: { callTimeoutMs: 30_000 } }),
    ],
  });
});
after(() => lockkeeper?.stop());

describe('GB-078: the same id in flight twice', () => {
  for (const era of ERAS) {
    it(`gives each request of one ${era} client its own answer`, async () => {
      const ask = await asker(era, at('shared'));
      for (let round = 0; round < 10; round++) {
        const slow = call(ask, 'later', { ms: 30, text: 'slow' }, { id: 1 });
        const fast = call(ask, 'later', { ms: 1, text: 'fast' }, { id: 1 });
        assert.deepEqual([textOf(await slow), textOf(await fast)], ['slow', 'fast']);
      }
    });
  }
});

describe('GB-079: ids that many clients use on one process', () => {
  for (const name of ['shared', 'modern']) {
    it(`never cross on a ${name} one, where they are ours and each used once`, async () => {
      const people = await Promise.all([asker('modern', at(name)), legacyAsker(at(name)), legacyAsker(at(name))]);
      const calls = Array.from({ length: 150 }, (_, n) => n).map(async (n) => {
        const text = `call-${n}`;
        const answer = await call(people[n % 3]!, 'later', { ms: n % 7, text }, { id: [0, 1, '0', '1'][n % 4]! });
        assert.equal(textOf(answer), text);
      });
      await Promise.all(calls);
      const ids = (await seenBy(people[0]!)).flatMap(({ id }) => (id === undefined ? [] : [id]));
      assert.equal(new Set(ids).size, ids.length);
      assert.ok(ids.length >= 150);
    });
  }
});

describe('GB-080: an id', () => {
  for (const era of ERAS) {
    it(`comes back to a ${era} client as it was, in every kind of answer`, async () => {
      const ask = await asker(era, at('shared'));
      const errors = await asker(era, at('errors'));
      const streamed = { accept: 'text/event-stream' };
      for (const id of IDS) {
        const answers = [
          await call(ask, 'pid', {}, { id }),
          await call(ask, 'pid', {}, { id, headers: streamed }),
          await call(errors, 'error', { code: 1001 }, { id }),
          await call(ask, 'nobody', {}, { id }),
          await ask('foo/bar', {}, { id }),
          await ask('tools/list', { cursor: 'made-up' }, { id }),
        ];
        for (const { message } of answers) assert.strictEqual(message?.id, id, JSON.stringify(message));
        assert.ok(
          answers[0]!.result && answers[1]!.result && answers[2]!.error && answers[4]!.error && answers[5]!.error,
        );
      }
    });
  }

  it('comes back in the answer to initialize', async () => {
    for (const id of IDS) {
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
      const { message } = await callLegacy(at('shared'), {
        message: { jsonrpc: '2.0', id, method: 'initialize', params },
      });
      assert.strictEqual(message?.id, id);
    }
  });

  it('comes back from a refusal that the body had to be read for', async () => {
    const { session } = await openLegacySession(at('shared'));
    const wrong = { session: `${session}x`, revision: '2025-11-25' };
    for (const id of IDS) {
      const { status, message } = await callLegacy(at('shared'), {
        ...wrong,
        message: { jsonrpc: '2.0', id, method: 'ping' },
      });
      assert.equal(status, 404);
      assert.strictEqual(message?.id, id);
    }
  });
});

describe('GB-082: a server that answers with wrong ids', () => {
  for (const era of ERAS) {
    for (const tool of ['string', 'null', 'zero']) {
      it(`(${tool}) fails the ${era} call in time, and nobody else's`, async () => {
        const ask = await asker(era, at('wrong'));
        // Before the call's own deadline: the answer came, if a useless one.
        const { result } = await within(call(ask, tool), 15_000, 'an error');
        assert.equal(result?.isError, true);
        assert.equal(textOf(await call(ask, 'echo', { text: 'next' })), 'next');
      });
    }

    it(`(twice, unknown) gives the ${era} caller the first answer and the next caller its own`, async () => {
      const ask = await asker(era, at('wrong'));
      for (const tool of ['twice', 'unknown']) assert.equal(textOf(await call(ask, tool)), 'first');
      for (const text of ['a', 'b']) assert.equal(textOf(await call(ask, 'echo', { text })), text);
    });
  }

  for (const [what, line] of [
    ['an error without an id', '{"jsonrpc":"2.0","error":{"code":-32603,"message":"oops"}}'],
    ['result and error both', '{"jsonrpc":"2.0","id":$ID,"result":{"content":[]},"error":{"code":1,"message":"oops"}}'],
    ['neither result nor error', '{"jsonrpc":"2.0","id":$ID}'],
  ] as const) {
    it(`(${what}) is an error for the caller, and the process goes on`, async () => {
      const ask = modernAsker(at('shared'));
      const pid = textOf(await call(ask, 'pid'));
      const { result } = await call(ask, 'write', { lines: [line] });
      assert.equal(result?.isError, true);
      assert.equal(textOf(await call(ask, 'pid')), pid);
    });
  }
});

describe('GB-076: a ping of a server', () => {
  for (const era of ERAS) {
    it(`is answered here, with its id as it was, and reaches no ${era} client`, async () => {
      const ask = await asker(era, at('pings'));
      const ping = (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"ping"}`;
      const end = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"done"}]}}';
      const answer = await call(ask, 'write', { lines: [ping('0'), ping('"s-1"'), end] });
      assert.equal(textOf(answer), 'done');
      assert.deepEqual(answer.before, []);
      const answers = (await seenBy(ask)).filter(({ method }) => method === undefined);
      for (const id of [0, 's-1'])
        assert.ok(
          answers.some((one) => one.id === id && 'result' in one),
          JSON.stringify(answers),
        );
    });
  }
});
