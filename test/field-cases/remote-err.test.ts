// Field cases of class ERR with remote servers: is every failure of a server, of its HTTP and of the way to it told in a form
// that clients of each era can read, with what the operator must do where it is the operator's?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { freePort } from '../harness/ports.ts';
import type { RawUpstream } from '../servers/http/raw-upstream.ts';
import { openRemoteStage, type RemoteStage } from './remote-stage.ts';
import { asker, assertCalm, call, ERAS, logOf, modernAsker, namesOf, textOf } from './stage.ts';

const CHALLENGE = 'Bearer resource_metadata="https://up.example/.well-known/oauth-protected-resource", scope="secret"';

let stage: RemoteStage<'old' | 'new' | 'hangs' | 'refuses' | 'beside'>;
before(async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  stage = await openRemoteStage(
    {
      old: { kind: 'legacy' },
      new: { kind: 'modern' },
      hangs: { kind: 'modern', more: { callTimeoutMs: 500 } },
      refuses: { kind: 'modern' },
      beside: { kind: 'modern' },
    },
    { servers: [{ name: 'gone', http: { url }, more: { startTimeoutMs: 2_000 } }] },
  );
});
after(async () => {
  await stage?.stop();
});

const at = (name: string) => stage.lockkeeper.route(`/acme/${name}/mcp`);

function fails(up: RawUpstream, code: number, status: number, times = 1): void {
  up.when(
    'tools/call',
    (reply, { message }) => {
      const error = { code, message: 'why', data: { field: 'x' } };
      reply.json({ jsonrpc: '2.0', id: message?.id, error }, status);
    },
    times,
  );
}

describe("GB-096: a server's error", () => {
  for (const name of ['old', 'new'] as const) {
    for (const code of [-32602, -32603, 1001, -31999]) {
      for (const status of [200, 400, 500]) {
        it(`${code} of the ${name} server under HTTP ${status} is 200 with its code, words and data for both eras`, async () => {
          for (const era of ERAS) {
            const ask = await asker(era, at(name));
            await ask('tools/list');
            fails(stage.up[name], code, status);
            const answer = await call(ask, 'echo');
            assert.deepEqual([answer.status, answer.error?.code, answer.error?.message], [200, code, 'why']);
            assert.equal((answer.error?.data as { field?: string } | undefined)?.field, 'x');
          }
        });
      }
    }

    for (const code of [-32000, -32002, -32020, -32021, -32042, -32099, -32700]) {
      it(`${code} of the ${name} server is a code that a modern client knows`, async () => {
        // Of -32020 it is believed that it heals, once.
        fails(stage.up[name], code, 200, code === -32020 ? 2 : 1);
        const { status, error, result } = await call(modernAsker(at(name)), 'echo');
        stage.up[name].behave();
        const own = error?.code ?? 0;
        assert.ok(
          result?.isError === true || [-32602, -32603, -32021].includes(own) || own > 10_000,
          JSON.stringify(error),
        );
        assert.equal(status, own === -32021 ? 400 : 200);
      });
    }
  }

  for (const [what, act] of [
    [
      '500 with a page',
      (up: RawUpstream) =>
        up.when(
          'tools/call',
          (reply) => reply.body(500, { 'content-type': 'text/html' }, '<h1>Oops at 10.1.2.3</h1>'),
          1,
        ),
    ],
    ['502', (up: RawUpstream) => up.when('tools/call', (reply) => reply.body(502, {}), 1)],
    ['429', (up: RawUpstream) => up.when('tools/call', (reply) => reply.body(429, { 'retry-after': '7' }), 1)],
    [
      'a redirect',
      (up: RawUpstream) => up.when('tools/call', (reply) => reply.body(302, { location: 'https://login.example/' }), 1),
    ],
    [
      'a page',
      (up: RawUpstream) =>
        up.when('tools/call', (reply) => reply.body(200, { 'content-type': 'text/html' }, '<h1>Welcome</h1>'), 1),
    ],
    ['a reset', (up: RawUpstream) => up.when('tools/call', (reply) => reply.reset(), 1)],
  ] as const) {
    for (const name of ['old', 'new'] as const) {
      it(`${what} of the ${name} server is a failed call with 200 and its id for both eras, and not its text`, async () => {
        for (const era of ERAS) {
          const ask = await asker(era, at(name));
          await ask('tools/list');
          const sent = stage.up[name].of('tools/call').length;
          act(stage.up[name]);
          const { status, result, message } = await call(ask, 'echo', {}, { id: 'q-7' });
          assert.deepEqual([status, message?.id, result?.isError], [200, 'q-7', true]);
          assert.doesNotMatch(JSON.stringify(message), /Oops|Welcome|10\.1\.2\.3/);
          assert.equal(stage.up[name].of('tools/call').length, sent + 1, 'sent once');
          assert.match(textOf(await call(ask, 'echo', { n: 1 })), /"n":1/);
        }
      });
    }
  }

  it('is never the transport’s: a server that is not there is 200 with our own code', async () => {
    const { status, error, message } = await modernAsker(at('gone'))('tools/list', {}, { id: 'q-8' });
    assert.deepEqual([status, error?.code, message?.id], [200, 10003, 'q-8']);
  });
});

describe('GB-097: a tool call that fails', () => {
  for (const era of ERAS) {
    it(`(a) and does not end: is a result with isError for a ${era} client, and the next is fine`, async () => {
      const ask = await asker(era, at('hangs'));
      await ask('tools/list');
      stage.up.hangs.when('tools/call', () => undefined, 1);
      const { status, result } = await call(ask, 'echo');
      assert.deepEqual([status, result?.isError], [200, true]);
      assert.match(JSON.stringify(result?.content), /did not answer in time/);
      assert.match(textOf(await call(ask, 'echo', { n: 1 })), /"n":1/);
    });
  }
});

describe('GB-097 (c), GB-099: a server that refuses us', () => {
  for (const [status, headers] of [
    [401, { 'www-authenticate': CHALLENGE }],
    [403, { 'www-authenticate': `${CHALLENGE}, error="insufficient_scope"` }],
  ] as const) {
    for (const era of ERAS) {
      it(`GB-099: ${status} is an error that names the server and what is to be done, never a challenge of ours, for a ${era} client`, async () => {
        const { refuses } = stage.up;
        const ask = await asker(era, at('refuses'));
        assert.deepEqual(namesOf(await ask('tools/list')), ['echo']);
        refuses.when('tools/call', (reply) =>
          reply.body(status, { 'content-type': 'application/json', ...headers }, '{"secret":"of theirs"}'),
        );
        const called = await call(ask, 'echo');
        refuses.behave();
        assert.deepEqual([called.status, called.result?.isError], [200, true]);
        assert.equal(called.headers.get('www-authenticate'), undefined);
        const said = JSON.stringify(called.message);
        assert.match(said, /refuses/);
        assert.match(said, /credential|operator|administrator/i);
        assert.doesNotMatch(said, /up\.example|of theirs|resource_metadata/);
        assert.match(textOf(await call(ask, 'echo', { n: 1 })), /"n":1/);
      });

      it(`GB-099: ${status} to a list is told as well, never by an empty list, for a ${era} client; others are untouched`, async () => {
        const { refuses } = stage.up;
        const ask = await asker(era, at('refuses'));
        refuses.when('tools/list', (reply) => reply.body(status, headers));
        const listed = await ask('tools/list');
        refuses.behave();
        assert.equal(listed.headers.get('www-authenticate'), undefined);
        assert.ok(listed.status < 401 || listed.status > 403, String(listed.status));
        // What was listed before may be listed still, and says so; a list that auth made empty is none.
        const said = JSON.stringify(listed.error ?? listed.result?._meta);
        assert.match(said, listed.error ? /refuses/ : /"lockkeeper\/unavailable":\[\{"server":"refuses"/);
        if (!listed.error) assert.deepEqual(namesOf(listed), ['echo']);
        assert.match(textOf(await call(await asker(era, at('beside')), 'echo', { n: 1 })), /"n":1/);
      });
    }
  }

  it('is in the log with the server and the status, without what the server said', () => {
    const lines = logOf(stage.lockkeeper).filter((line) => JSON.stringify(line).includes('refuses'));
    assert.ok(lines.some((line) => /401|403/.test(JSON.stringify(line))));
    assert.doesNotMatch(stage.lockkeeper.process.logs(), /up\.example|of theirs/);
  });
});

it('leaves no trace of the unexpected in the log', () => assertCalm(stage.lockkeeper));
