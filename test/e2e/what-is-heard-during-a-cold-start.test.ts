// A server takes its time to start, as those do that are fetched and built first: does its caller's connection live until
// then, in both eras (protocol.md §2.4, §3.2, §4.7)?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { legacyRequest, modernRequest } from '../harness/messages.ts';
import { type RawRequest, sendRaw } from '../harness/raw.ts';

const SLOW = fileURLToPath(new URL('../servers/slow-start.mjs', import.meta.url));
/** Several keep-alive periods. */
const START_MS = 4_500;
const NAMES = ['call', 'list', 'initialize', 'stateless'];

let keeper: Lockkeeper;

before(async () => {
  keeper = await startStandalone({
    servers: NAMES.map((name) => ({
      ...{ name, args: [SLOW], env: { START_MS: String(START_MS) } },
      more: { era: 'legacy', startTimeoutMs: 60_000 },
    })),
    limits: { keepAliveMs: 1_000 },
  });
});

after(() => keeper?.stop());

const CALL = { method: 'tools/call', params: { name: 'echo', arguments: { text: 'at last' } } };
const INITIALIZE = {
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};

const CASES: readonly [string, string, RawRequest, RegExp][] = [
  ['a modern call', 'call', modernRequest(CALL), /at last/],
  ['a modern list', 'list', modernRequest({ method: 'tools/list' }), /"tools":\[/],
  ['a legacy initialize', 'initialize', legacyRequest({ message: INITIALIZE }), /"protocolVersion"/],
  [
    'a legacy call without a session',
    'stateless',
    legacyRequest({ message: { jsonrpc: '2.0', id: 1, ...CALL } }),
    /at last/,
  ],
];

describe('during a cold start', { concurrency: true }, () => {
  for (const [what, name, request, answer] of CASES) {
    it(`${what} has a stream that is kept alive by comments, and then its answer`, async () => {
      const response = await sendRaw(keeper.route(`/acme/${name}/mcp`), request);
      assert.equal(response.status, 200);
      assert.match(response.headers.get('content-type')!, /^text\/event-stream/);
      let comments = 0;
      const said: string[] = [];
      for await (const { comment, data } of response.events()) {
        if (comment !== undefined) comments++;
        if (data) said.push(data);
      }
      assert.ok(comments >= 1, `${comments} comments`);
      assert.equal(said.length, 1, said.join('\n'));
      assert.match(said[0]!, answer);
    });
  }
});
