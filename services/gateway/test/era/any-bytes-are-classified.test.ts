// Whatever comes in is classified or refused, never thrown at (style habit 3); what is accepted points into the bytes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { classify, classifyLegacy } from '../../src/era/classify.ts';
import { routeOf } from '../http/rig.ts';

const LIMITS = { maxDepth: 12, maxBatch: 3 };
const routes = [routeOf('/a/mcp'), routeOf('/b/mcp', { revisions: [] })];
const version = fc.constantFrom(undefined, '2026-07-28', '2025-11-25', 'x');

const member = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.constant(null),
  fc.double({ noNaN: true }),
  fc.jsonValue({ maxDepth: 3 }),
);
const message = fc.record(
  {
    jsonrpc: fc.constantFrom('2.0', '1.0', 2),
    id: member,
    method: fc.constantFrom('tools/list', 'initialize', 5, null),
    params: fc.oneof(member, fc.record({ _meta: fc.oneof(member, fc.dictionary(fc.string(), member)) })),
    result: member,
    error: member,
  },
  { requiredKeys: [] },
);
const text = fc.oneof(message, fc.array(message, { maxLength: 5 }), fc.jsonValue()).map((v) => JSON.stringify(v));

function judge(bytes: Uint8Array, header: string | undefined): void {
  const headers = header === undefined ? {} : { 'mcp-protocol-version': header };
  for (const route of routes) {
    const found = classify(bytes, headers, route, LIMITS);
    if (found.kind !== 'modern') continue;
    assert.equal(found.message.bytes, bytes);
    const { idText, id } = found.message;
    if (idText !== null) assert.deepEqual(JSON.parse(idText), id);
  }
  assert.notEqual(classifyLegacy(bytes, LIMITS).kind, 'modern');
}

test('bytes of any kind', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), version, (bytes, header) => judge(bytes, header)),
    { numRuns: 500 },
  );
});

test('JSON of any kind, and messages with any part wrong', () => {
  fc.assert(
    fc.property(text, version, (json, header) => judge(Buffer.from(json), header)),
    { numRuns: 1000 },
  );
});
