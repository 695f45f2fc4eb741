// Does every rung of the ladder (protocol.md §2.1) answer with exactly its status and code, echo a readable id, and help?
// Bare socket, one thing wrong at a time, on a route to one server and on an aggregate. Tokens (#3) are in
// a-bad-token-opens-nothing.test.ts; a stream that has begun (#23) is the business of the modern leg's own tests.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { callModern, type ModernWish, modernRequest, openLegacySession } from '../harness/messages.ts';
import { sendRaw } from '../harness/raw.ts';
import { badRequests, MAX_BODY } from './bad-requests.ts';

const fixture = (name: string) => fileURLToPath(new URL(`../conformance/fixtures/${name}.ts`, import.meta.url));
const ONE = '/acme/dual/mcp';
const CALL: ModernWish = { method: 'tools/call', params: { name: 'test_simple_text', arguments: {} } };
const HEADED: ModernWish = {
  method: 'tools/call',
  params: { name: 'test_x_mcp_header', arguments: { region: 'Ålesund' } },
};

let lockkeeper: Lockkeeper;

before(async () => {
  lockkeeper = await startStandalone({
    servers: [{ name: 'dual', args: [fixture('dual')] }],
    limits: { maxBodyBytes: MAX_BODY },
  });
});
after(() => lockkeeper?.stop());

for (const [route, rows] of [
  [ONE, badRequests('', '')],
  ['/acme/mcp', badRequests('dual__', '#lk.dual')],
] as const) {
  describe(`the request ladder of ${route}`, () => {
    for (const { rung, what, request, status, code, id, data, words } of rows) {
      it(`${rung} ${what}: ${status}${code === null ? '' : ` with ${code}`}`, async () => {
        const response = await sendRaw(lockkeeper.route(route), request);
        const text = await response.text();
        response.destroy();
        assert.equal(response.status, status, text);
        if (code === null) return;
        const message = JSON.parse(text) as { id?: unknown; error?: { code: number; message: string; data?: never } };
        assert.equal(message.error?.code, code, text);
        assert.ok(message.error.message.length > 10, text);
        if (words !== undefined) assert.match(message.error.message, words);
        if (id === null) assert.ok(message.id === undefined || message.id === null, text);
        else assert.equal(message.id, 'q-7', text);
        data?.(message.error.data ?? {});
      });
    }
  });
}

describe('the request ladder', () => {
  it('#2, #2a names the verbs it takes', async () => {
    for (const method of ['GET', 'PUT']) {
      const response = await sendRaw(lockkeeper.route(ONE), { ...modernRequest(CALL), method });
      response.destroy();
      assert.match(response.headers.get('allow') ?? '', /POST/);
    }
  });

  for (const [revision, id] of [
    ['2025-11-25', undefined],
    ['2025-06-18', null],
  ] as const) {
    it(`Part 7 #5: what cannot be read in a session of ${revision} that sends no version has the id ${id}`, async () => {
      const { session } = await openLegacySession(lockkeeper.route(ONE), { revision });
      const headers = { 'content-type': 'application/json', 'mcp-session-id': session ?? assert.fail('no session') };
      const response = await sendRaw(lockkeeper.route(ONE), { headers, body: '{"jsonrpc":' });
      const message = JSON.parse(await response.text()) as { id?: unknown; error: { code: number } };
      response.destroy();
      assert.deepEqual([response.status, message.error.code, message.id], [400, -32700, id]);
    });
  }

  it('an unknown route is 404 before anything is asked of the caller', async () => {
    const response = await sendRaw(lockkeeper.route('/acme/nowhere/mcp'), modernRequest(CALL));
    response.destroy();
    assert.equal(response.status, 404);
  });

  it('#1a without an Origin, with encoded headers in any case, everything right is answered', async () => {
    const name = Buffer.from('test_x_mcp_header').toString('base64');
    const region = Buffer.from('Ålesund').toString('base64');
    const headers = {
      'mcp-name': undefined,
      'MCP-NAME': `=?base64?${name}?=`,
      'Mcp-Param-REGION': `=?base64?${region}?=`,
    };
    const { status, message } = await callModern(lockkeeper.route(ONE), { ...HEADED, headers });
    assert.equal(status, 200, JSON.stringify(message));
    assert.match(JSON.stringify(message?.result), /region=Ålesund/);
  });

  it('goes on serving after all of that', async () => {
    const { status, message } = await callModern(lockkeeper.route(ONE), CALL);
    assert.equal(status, 200);
    const result = message?.result as { resultType: string };
    assert.equal(result.resultType, 'complete');
  });
});
