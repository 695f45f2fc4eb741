// What goes up to a legacy server and what comes back down of it: bytes, metadata, methods, capabilities.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectorOf, fail, legacyServer, NEVER, ok, spawner, specOf } from './fake.ts';
import { echo, scene } from './legacy-scene.ts';

test('initialize offers 2025-11-25, our name, and until questions are carried nothing that asks', async () => {
  const { spawn, children } = spawner(legacyServer());
  const connector = connectorOf({ spawn });
  const ui = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } };
  const declared = { roots: {}, sampling: {}, elicitation: { form: {} }, extensions: ui };
  const connection = await connector.connect(specOf({ era: 'legacy' }), declared, NEVER);
  assert.deepEqual(children[0]?.received[0], {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: { extensions: ui },
      clientInfo: { name: 'lockkeeper', version: '0.1.0' },
    },
  });
  await connection.stop('test');
  await connector.close();
});

test('with questions carried, the projection is declared as it is and is the fingerprint', async () => {
  const { spawn, children } = spawner(legacyServer());
  const connector = connectorOf({ spawn, questions: { ask: () => {}, withdraw: () => {} } });
  const connection = await connector.connect(specOf({ era: 'legacy' }), { elicitation: { form: {} } }, NEVER);
  assert.deepEqual(children[0]?.received[0]?.params?.capabilities, { elicitation: { form: {} } });
  assert.equal(connection.fingerprint, 'elicitation.form');
  await connection.stop('test');
  await connector.close();
});

test('a call goes up as one line of the bytes that came, with our id and token; line breaks between tokens are spaces', async () => {
  const s = await scene(echo);
  const params = '"name":"t",\n "arguments":\r\n{"n":1.0,"big":12345678901234567890,"e":1e2}';
  const head = { meta: '"vendor/x":{"a":1}', trace: { traceparent: '00-1-2-01', tracestate: 'v=1' } };
  await s.call('tools/call', params, head);
  assert.equal(
    s.child.raw.at(-1),
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":2,"traceparent":"00-1-2-01",' +
      '"tracestate":"v=1","vendor/x":{"a":1}},"name":"t",  "arguments":  {"n":1.0,"big":12345678901234567890,"e":1e2}}}',
  );
  await s.end();
});

test('reserved names never go up, even if a gateway let them through', async () => {
  const s = await scene(echo);
  await s.call('tools/call', '"name":"t"', {
    meta: '"io.modelcontextprotocol/logLevel":"debug","progressToken":"mine","v":1',
  });
  assert.deepEqual(s.child.received.at(-1)?.params?._meta, { progressToken: 2, v: 1 });
  await s.end();
});

test('a result comes back with the bytes the server wrote, without _meta and resultType', async () => {
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    child.line(
      `{"result":{"content":[{"type":"text","text":"\\u00e9"}],"_meta":{"io.modelcontextprotocol/x":1,"v/y":2.50},"n":1.0,"resultType":"odd"},"jsonrpc":"2.0","id":${m.id}}`,
    );
    return true;
  });
  const { result, text } = await s.call('tools/call', '"name":"t"');
  assert.deepEqual(result, { resultType: 'complete', meta: '"v/y":2.50' });
  assert.equal(text, '"content":[{"type":"text","text":"\\u00e9"}],"n":1.0');
  await s.end();
});

test('GB-089: structuredContent and unknown members pass', async () => {
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    ok(child, m, { content: [], structuredContent: { a: [1] }, future: true });
    return true;
  });
  assert.deepEqual((await s.call('tools/call', '"name":"t"')).value, {
    content: [],
    structuredContent: { a: [1] },
    future: true,
  });
  await s.end();
});

test('a resource not found, by -32002 or by empty contents, is -32602 with its uri; a legacy caller still gets -32002', async () => {
  const s = await scene((m, child) => {
    if (m.method !== 'resources/read') return false;
    if (m.params?.uri === 'a:1') fail(child, m, -32002, 'gone');
    else ok(child, m, { contents: [] });
    return true;
  });
  const one = await s.call('resources/read', '"uri":"a:1"', { name: 'a:1' });
  const two = await s.call('resources/read', '"uri":"a:2"', { name: 'a:2' });
  const want = { reason: 'upstream', code: -32602, legacyCode: -32002, mayHaveRun: true };
  assert.deepEqual(one.fault, { ...want, message: 'gone', data: '{"uri":"a:1"}' });
  assert.deepEqual(two.fault, { ...want, message: 'Resource not found', data: '{"uri":"a:2"}' });
  await s.end();
});

test('GB-055: reads get the caching fields that are missing or wrong, and keep those that are right', async () => {
  const extra: Record<string, object> = {
    none: {},
    wrong: { ttlMs: -1, cacheScope: null },
    right: { ttlMs: 77, cacheScope: 'public' },
  };
  const s = await scene((m, child) => {
    if (m.method !== 'resources/read') return false;
    ok(child, m, { contents: [{ uri: 'a:1', text: '' }], ...extra[m.params?.uri as string] });
    return true;
  });
  const fields = async (uri: string) => {
    const { value } = await s.call('resources/read', `"uri":"${uri}"`);
    return [value?.ttlMs, value?.cacheScope];
  };
  assert.deepEqual(await fields('none'), [0, 'private']);
  assert.deepEqual(await fields('wrong'), [0, 'private']);
  assert.deepEqual(await fields('right'), [77, 'public']);
  await s.end();
});

test('discover is answered from the introduction and never goes up', async () => {
  const capabilities = { tools: { listChanged: true }, logging: {}, tasks: { list: {} }, experimental: { x: {} } };
  const s = await scene(() => false, { capabilities, instructions: 'be nice', protocolVersion: '2025-03-26' });
  const { value, started } = await s.call('server/discover');
  assert.deepEqual(value, {
    supportedVersions: ['2025-03-26'],
    capabilities: { tools: { listChanged: true }, experimental: { x: {} }, logging: {} },
    instructions: 'be nice',
    ttlMs: 1234,
    cacheScope: 'private',
    'lk/era': 'legacy',
    'lk/revision': '2025-03-26',
  });
  assert.equal(started, false);
  assert.deepEqual(s.child.methods(), ['initialize', 'notifications/initialized']);
  await s.end();
});

test('what the server did not declare is not asked of it', async () => {
  const s = await scene(() => false, { capabilities: { tools: {}, resources: {} } });
  for (const method of ['prompts/list', 'completion/complete', 'resources/subscribe', 'tasks/get', 'future/thing']) {
    const { fault } = await s.call(method);
    assert.deepEqual([fault?.code, fault?.legacyCode, fault?.mayHaveRun], [-32603, -32601, false], method);
  }
  assert.deepEqual(s.child.methods(), ['initialize', 'notifications/initialized']);
  await s.end();
});

test('completion of a 2024-11-05 server is tried undeclared, and its context is dropped', async () => {
  const s = await scene(
    (m, child) => {
      if (m.method !== 'completion/complete') return false;
      ok(child, m, { completion: { values: Object.keys(m.params ?? {}) } });
      return true;
    },
    { protocolVersion: '2024-11-05', capabilities: {} },
  );
  const { value } = await s.call(
    'completion/complete',
    '"ref":{},"context":{"arguments":{"a":"1"}},"argument":{"name":"x"}',
  );
  assert.deepEqual(value, { completion: { values: ['_meta', 'ref', 'argument'] } });
  await s.end();
});

test('subscribe and unsubscribe go up as they are', async () => {
  const s = await scene((m, child) => {
    if (!m.method?.startsWith('resources/')) return false;
    ok(child, m, {});
    return true;
  });
  assert.deepEqual((await s.call('resources/subscribe', '"uri":"a:1"')).value, {});
  assert.deepEqual((await s.call('resources/unsubscribe', '"uri":"a:1"')).value, {});
  assert.deepEqual(s.child.methods().slice(-2), ['resources/subscribe', 'resources/unsubscribe']);
  await s.end();
});

test('changes are handed on, with the resource they name', async () => {
  const changes: unknown[] = [];
  const s = await scene(() => false, {}, {}, { onChange: (spec, change) => void changes.push([spec.name, change]) });
  s.child.write({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  s.child.write({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'a:1' } });
  assert.deepEqual(changes, [
    ['fake', { method: 'notifications/tools/list_changed' }],
    ['fake', { method: 'notifications/resources/updated', uri: 'a:1' }],
  ]);
  await s.end();
});
