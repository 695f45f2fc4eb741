// How does a legacy server's question reach a modern caller, and its answer the server?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stage } from '../dispatch/stage.ts';
import { ALL, asking, elicit, FORM, GREEN, retry, SCHEMA, sample, shown } from './asking.ts';

test('GB-064: the question is an input_required, the retry its answer, and the tool has run once', async () => {
  const s = stage({ scripts: [asking(elicit('q1'))], asks: true });
  const call = s.open('tools/call', { capabilities: FORM }, '"name":"t"');
  const { state, keys, requests } = shown(await call.ended);
  assert.equal(keys.length, 1);
  assert.deepEqual(requests[keys[0]!], {
    method: 'elicitation/create',
    params: { message: 'Server "fake" asks: Which color?', requestedSchema: SCHEMA },
  });
  const back = retry(s, call, state, { [keys[0]!]: GREEN });
  const { value, accepted, started } = await back.ended;
  assert.deepEqual(value, { content: [], told: { q1: GREEN } });
  assert.deepEqual([accepted, started], [true, true]);
  assert.equal(s.children[0]!.methods().filter((m) => m === 'tools/call').length, 1);
  assert.equal(s.dispatcher.size, 0);
  await s.end();
});

test('questions that come together are shown together, under keys of their own', async () => {
  const s = stage({ scripts: [asking(elicit(1), sample(2), { id: 3, method: 'roots/list' })], asks: true });
  const call = s.open('tools/call', { capabilities: ALL });
  const { state, keys, requests } = shown(await call.ended);
  assert.deepEqual(
    keys.map((key) => requests[key]!.method),
    ['elicitation/create', 'sampling/createMessage', 'roots/list'],
  );
  assert.ok(keys.every((key) => /^lk-/.test(key)));
  const said = { role: 'assistant', content: { type: 'text', text: 'hello' }, model: 'm' };
  const roots = { roots: [{ uri: 'file:///a' }] };
  const { value } = await retry(s, call, state, { [keys[0]!]: GREEN, [keys[1]!]: said, [keys[2]!]: roots }).ended;
  assert.deepEqual(value?.told, { 1: GREEN, 2: said, 3: roots });
  await s.end();
});
