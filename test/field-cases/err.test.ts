// Field cases of class ERR: is every failure told in a form that clients of its era can read? GB-099 is about remote
// servers and is not here.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { callLegacy } from '../harness/messages.ts';
import { asker, call, ERAS, type Json, modernAsker, server, textOf } from './stage.ts';

let lockkeeper: Lockkeeper;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);

before(async () => {
  lockkeeper = await startStandalone({
    servers: [
      server('old', 'returns-errors', {}),
      server('new', 'returns-errors', { env: { ERA: 'modern' } }),
      server('crashes', 'crashes-mid-call', {}),
      server('hangs', 'never-answers', { more: { callTimeoutMs: 500 } }),
      server('missing', 'nowhere', { command: 'no-such-command' }),
    ],
  });
});
after(() => lockkeeper?.stop());

/** What the server says → what a modern and a legacy client read. */
const CODES: readonly [number, number, number][] = [
  [-32602, -32602, -32602],
  [-32603, -32603, -32603],
  [1001, 1001, 1001],
  [-31999, -31999, -31999],
];

describe("GB-096: a server's error", () => {
  for (const name of ['old', 'new']) {
    for (const [given, ...expected] of CODES) {
      for (const [n, era] of ERAS.entries()) {
        it(`${given} of the ${name} server is 200 with ${expected[n]} for a ${era} client, its words and data kept`, async () => {
          const { status, error } = await call(await asker(era, at(name)), 'error', {
            code: given,
            message: 'why',
            data: { field: 'x' },
          });
          assert.deepEqual([status, error?.code, error?.message], [200, expected[n], 'why']);
          assert.equal((error?.data as { field?: string } | undefined)?.field, 'x');
        });
      }
    }

    for (const given of [-32000, -32002, -32020, -32021, -32042, -32099, -32700]) {
      it(`${given} of the ${name} server is a code that a modern client knows`, async () => {
        const { status, error, result } = await call(modernAsker(at(name)), 'error', { code: given, message: 'why' });
        const code = error?.code ?? 0;
        assert.ok(
          result?.isError === true || [-32602, -32603, -32021].includes(code) || code > 10_000,
          JSON.stringify(error),
        );
        assert.equal(status, code === -32021 ? 400 : 200);
      });
    }
  }

  it('in a result is 200 and stays a result', async () => {
    for (const era of ERAS) {
      const { status, result } = await call(await asker(era, at('old')), 'is-error');
      assert.deepEqual([status, result?.isError, result?.structuredContent], [200, true, { code: 7 }]);
    }
  });

  it("is never the transport's: a server that is not there is 200 with our own code for a modern client", async () => {
    const { status, error, message } = await modernAsker(at('missing'))('tools/list', {}, { id: 'q-7' });
    assert.deepEqual([status, error?.code, message?.id], [200, 10003, 'q-7']);
  });

  for (const [method, params] of [
    ['initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }],
    ['tools/list', {}],
  ] as const) {
    it(`is never the transport's: a legacy client hears the same of ${method}`, async () => {
      const sent = { jsonrpc: '2.0', id: 'q-7', method, params };
      const { status, message } = await callLegacy(at('missing'), { message: sent });
      assert.deepEqual([status, (message?.error as { code?: number })?.code, message?.id], [200, 10003, 'q-7']);
    });
  }
});

describe('GB-097: a tool call that fails', () => {
  for (const era of ERAS) {
    for (const [what, name, tool, words] of [
      ['(a) does not end', 'hangs', 'wait', /did not answer in time/],
      ['(b) ends its process', 'crashes', 'crash', /may have run in part/],
    ] as const) {
      it(`${what}: is a result with isError and words for a ${era} client`, async () => {
        const { status, result } = await call(await asker(era, at(name)), tool);
        assert.deepEqual([status, result?.isError], [200, true]);
        assert.match((result!.content as { text: string }[])[0]!.text, words);
        assert.match((result!._meta as Record<string, string>)['lockkeeper/reason']!, /^(timeout|lost)$/);
      });
    }

    it(`(b) of a server that cannot be started: is the same for a ${era} client`, async () => {
      const params = { name: 'any', arguments: {} };
      // No session can be opened there; a call of old needs none (GB-008).
      const { status, message } =
        era === 'modern'
          ? await modernAsker(at('missing'))('tools/call', params)
          : await callLegacy(at('missing'), { message: { jsonrpc: '2.0', id: 1, method: 'tools/call', params } });
      const result = message?.result as { isError?: boolean; content: { text: string }[]; _meta: Json } | undefined;
      assert.deepEqual([status, result?.isError], [200, true]);
      assert.match(result!.content[0]!.text, /could not be started: command not found: no-such-command/);
      assert.equal(result!._meta['lockkeeper/reason'], 'start-failed');
    });

    it(`(d) has an unknown name: is -32602 for a ${era} client`, async () => {
      const { status, error } = await call(await asker(era, at('old')), 'nobody');
      assert.deepEqual([status, error?.code], [200, -32602]);
    });
  }

  it('leaves the server usable', async () => {
    assert.equal(textOf(await call(modernAsker(at('crashes')), 'echo', { text: 'x' })), 'x');
    assert.equal(textOf(await call(modernAsker(at('hangs')), 'echo', { text: 'x' })), 'x');
  });
});
