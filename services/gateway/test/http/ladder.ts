// The rungs of protocol.md §2.1 as rows, one per situation, and how each is tried on a raw socket: exact status, code, id.
// A request that breaks several rules gets the answer of the first.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CC, type ModernCall, modernParts, PV, type Rig, send, startRig } from './rig.ts';

export interface Row {
  readonly says: string;
  readonly call: ModernCall;
  readonly status: number;
  readonly code: number | null;
  /** undefined: the error has no id. */
  readonly id?: unknown;
  readonly extra?: string;
  /** Replaces the whole body on the wire. */
  readonly raw?: string | Buffer;
}

const NAMED = { name: 'echo', arguments: {} };
export const callTool = (
  headers: Record<string, string | null>,
  params: Record<string, unknown> = NAMED,
): ModernCall => ({
  method: 'tools/call',
  params,
  headers,
});
export const text = (value: string) => `=?base64?${Buffer.from(value).toString('base64')}?=`;
export const envelope = { [PV]: '2026-07-28', [CC]: {} };
export const bare = (params: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params });

/** The gateway that is climbed, while the tests of a file run. */
export let rig: Rig;

export function climb(rows: readonly Row[]): void {
  before(async () => {
    rig = await startRig();
  });
  after(() => rig.close());

  for (const row of rows) {
    test(`${row.says}: ${row.status} ${row.code ?? 'result'}`, async () => {
      const { start, lines, body } = modernParts(row.call);
      const before = rig.seen.length;
      const reply = await send(rig.port, start, lines, row.raw ?? body);
      assert.equal(reply.status, row.status, reply.body);
      assert.equal(reply.headers.get('content-type'), 'application/json');
      assert.equal(reply.headers.get('cache-control'), 'no-store');
      assert.equal(reply.headers.get('mcp-session-id'), undefined);
      const message = JSON.parse(reply.body) as {
        jsonrpc: string;
        id?: unknown;
        error?: { code: number; message: string; data: Record<string, unknown> };
        result?: unknown;
      };
      assert.equal(message.jsonrpc, '2.0');
      if (row.code === null) {
        assert.equal(rig.seen.length, before + 1);
        assert.ok(message.result !== undefined);
        return;
      }
      assert.equal(rig.seen.length, before, 'a refused request goes no further');
      assert.equal(message.error?.code, row.code, reply.body);
      assert.deepEqual(message.id, row.id);
      assert.equal('id' in message, row.id !== undefined);
      assert.ok((message.error?.message.length ?? 0) > 10);
      assert.equal(message.error?.data['lockkeeper/exchange'], reply.headers.get('lockkeeper-exchange'));
      if (row.extra !== undefined) {
        const { 'lockkeeper/exchange': _exchange, ...data } = message.error?.data ?? {};
        assert.deepEqual(data, JSON.parse(row.extra));
      }
    });
  }
}
