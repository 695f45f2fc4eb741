// Does an answered form fit what was asked (26/elicit, design §4 amendment 8)? And do the bytes of questions and answers
// come through as they were?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unfit } from '../../src/parked/form.ts';
import { screen } from '../../src/parked/screen.ts';
import { heldState, passedState, readState } from '../../src/parked/state-text.ts';
import { stage } from '../dispatch/stage.ts';
import { legacyServer } from '../raise/fake.ts';
import { ALL, FORM, shown } from './asking.ts';

const one = (schema: object, required: string[] = []) => ({ type: 'object', properties: { f: schema }, required });
const titled = [
  { const: 'a', title: 'A' },
  { const: 'b', title: 'B' },
];

const ROWS: readonly (readonly [object, unknown, boolean])[] = [
  [{ type: 'string' }, 'x', true],
  [{ type: 'string' }, 1, false],
  [{ type: 'string' }, null, false],
  [{ type: 'string', minLength: 2 }, 'x', false],
  [{ type: 'string', maxLength: 2 }, 'xyz', false],
  [{ type: 'string', maxLength: 1 }, '😀', true],
  [{ type: 'string', format: 'email' }, 'a@b.example', true],
  [{ type: 'string', format: 'email' }, 'a b', false],
  [{ type: 'string', format: 'uri' }, 'https://a.example/', true],
  [{ type: 'string', format: 'uri' }, 'nowhere', false],
  [{ type: 'string', format: 'date' }, '2026-11-30', true],
  [{ type: 'string', format: 'date' }, '30.11.2026', false],
  [{ type: 'string', format: 'date-time' }, '2026-11-30T10:00:00Z', true],
  [{ type: 'string', format: 'date-time' }, '2026-11-30', false],
  [{ type: 'string', format: 'unheard-of' }, 'x', true],
  // A server's pattern is never run here (T-51).
  [{ type: 'string', pattern: '^(a+)+$' }, 'b', true],
  [{ type: 'string', enum: ['a', 'b'], enumNames: ['A', 'B'] }, 'b', true],
  [{ type: 'string', enum: ['a', 'b'] }, 'c', false],
  [{ type: 'string', oneOf: titled }, 'a', true],
  [{ type: 'string', oneOf: titled }, 'A', false],
  [{ type: 'number' }, 1.5, true],
  [{ type: 'number' }, '1.5', false],
  [{ type: 'number', minimum: 2 }, 1, false],
  [{ type: 'number', maximum: 2 }, 3, false],
  [{ type: 'integer' }, 2, true],
  [{ type: 'integer' }, 2.5, false],
  [{ type: 'boolean' }, false, true],
  [{ type: 'boolean' }, 'yes please', false],
  [{ type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, ['a'], true],
  [{ type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, ['c'], false],
  [{ type: 'array', items: { anyOf: titled } }, ['a', 'b'], true],
  [{ type: 'array', items: { anyOf: titled } }, ['A'], false],
  [{ type: 'array', items: {}, minItems: 1 }, [], false],
  [{ type: 'array', items: {}, maxItems: 1 }, ['a', 'b'], false],
  [{ type: 'array', items: {} }, [1], false],
  [{ type: 'array', items: {} }, 'a', false],
  [{ type: 'odd' }, { any: 'thing' }, true],
];

test('a value fits its field, or it does not', () => {
  for (const [schema, value, fits] of ROWS) {
    const why = unfit(one(schema), { f: value });
    assert.equal(why === null, fits, `${JSON.stringify(schema)} ${JSON.stringify(value)}: ${why}`);
    // A person's words go nowhere but to the server that asked.
    if (typeof value === 'string' && value.length > 3) assert.ok(!why?.includes(value));
  }
});

test('what is required must be there; what was not asked for may be', () => {
  assert.notEqual(unfit(one({ type: 'string' }, ['f']), {}), null);
  assert.equal(unfit(one({ type: 'string' }), {}), null);
  assert.equal(unfit(one({ type: 'string' }), { other: 1 }), null);
  assert.notEqual(unfit(one({ type: 'string' }, ['toString']), {}), null);
  for (const content of [null, [], 'x', 1]) assert.notEqual(unfit(one({}), content), null);
  for (const schema of [{}, { properties: 7, required: 'f' }, { type: 'string' }])
    assert.equal(unfit(schema, { f: 1 }), null);
});

test('a question keeps its bytes: numbers, order, escapes and unknown fields; only its message names the server', () => {
  const text =
    '{"requestedSchema":{"type":"object","properties":{"n":{"type":"number","minimum":1.0,"default":1e2}}} , "x-own":[1.0,"\\u00e9"],"message":"Wie\\u0020viel?","_meta":{"progressToken":1}}';
  const screened = screen({ method: 'elicitation/create', params: Buffer.from(text) }, 's "1"', FORM);
  assert.equal(screened.kind, 'ask');
  assert.equal(
    Buffer.from(screened.kind === 'ask' ? screened.asked.params! : []).toString(),
    '{"requestedSchema":{"type":"object","properties":{"n":{"type":"number","minimum":1.0,"default":1e2}}},"x-own":[1.0,"\\u00e9"],"message":"Server \\"s \\"1\\"\\" asks: Wie viel?"}',
  );
});

test('params that can be read in two ways are refused', () => {
  for (const text of ['[]', '{"message":"a","message":"b","requestedSchema":{}}', '{"__proto__":{}}']) {
    const screened = screen({ method: 'elicitation/create', params: Buffer.from(text) }, 's', ALL);
    assert.equal(screened.kind === 'refuse' && screened.code, -32602, text);
  }
});

test('an answer reaches the server as it was written', async () => {
  let line = '';
  const script = legacyServer((m, child) => {
    if (m.method === 'tools/call')
      child.line(
        '{"jsonrpc":"2.0","id":"\\u0071 1","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}',
      );
    if (m.id === 'q 1') line = child.raw.at(-1)!;
    return m.method === 'tools/call' || m.method === undefined;
  });
  const s = stage({ scripts: [script], asks: true });
  const call = s.open('tools/call', { capabilities: FORM });
  const { state, keys } = shown(await call.ended);
  const answer = '{"content":{"n":1.0,\n"s":"\\u00e9"} , "action":"accept"}';
  s.open('tools/call', { ...call.head, state }, `"inputResponses":{"${keys[0]}":${answer}}`);
  await new Promise((resolve) => setImmediate(resolve));
  // The id as the server wrote it; a raw line break would end the line.
  assert.equal(line, `{"jsonrpc":"2.0","id":"\\u0071 1","result":${answer.replace('\n', ' ')}}`);
  await s.end();
});

test('a state says what it is for, and a server’s own is never taken for ours', () => {
  assert.deepEqual(readState(heldState('x.y', 3, 'n')), { kind: 'held', xid: 'x.y', round: 3, nonce: 'n' });
  for (const state of ['', 'x1.n.x', 'u', 'a:b', 'ä\n'])
    assert.deepEqual(readState(passedState(state, 'node-1.7')), { kind: 'passed', mark: 'node-1.7', state });
  assert.deepEqual(readState(passedState(undefined, 'node-1.7')), { kind: 'passed', mark: 'node-1.7' });
  for (const none of ['', 'x', 'x0.n.x', 'x1..x', 'x1.n.', 'y']) assert.equal(readState(none), null, none);
});
