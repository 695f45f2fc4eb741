// Nothing: names, URIs, order and bytes are the server's (design §7).
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { bodyOf, type FakeServer, fault, metaOf, names, read, refusalOf, result, stageOf, textOf } from './stage.ts';

const RICH =
  '{"name":"a.b/c","title":"T","icons":[{"src":"data:x"}],"annotations":{"readOnlyHint":true,"x-vendor":1},' +
  '"inputSchema":{"type":"object","$defs":{"a/b":{"$ref":"#/$defs/a~1b"}},"properties":{"n":{"const":null}},"unevaluatedProperties":false},' +
  '"outputSchema":{"$ref":"#/$defs/Missing"},"_meta":{"com.example/cost":3,"ui":{"resourceUri":"ui://w/1.html"}},' +
  '"unknownFuture":{"big":12345678901234567890,"e":1.0e5,"k": [1 ,2]}}';

test('GB-091 GB-136: a listed tool comes byte for byte, unknown members and numbers included', async () => {
  const stage = stageOf({ servers: { s: { tools: [RICH], extra: '"vendorField":{"a":1.50}' } } });
  for (let i = 0; i < 2; i++) {
    const text = textOf(await stage.ask('tools/list'));
    assert.ok(text.includes(RICH), text);
    assert.ok(text.includes('"vendorField":{"a":1.50}'));
  }
  assert.equal(stage.sentOf('tools/list').length, 1);
});

test('order and duplicates: the server decides the order, the first of two with one name is kept and said', async () => {
  const stage = stageOf({
    servers: { s: { tools: ['{"name":"z"}', '{"name":"a"}', '{"name":"z","second":1}', '{"name":"A"}'] } },
  });
  assert.deepEqual(names(await stage.ask('tools/list')), ['z', 'a', 'A']);
  assert.match(JSON.stringify(stage.warnings), /there twice/);
});

test('GB-137: an item that cannot be read is withheld alone, with a word in the log', async () => {
  const good = Array.from({ length: 13 }, (_, i) => `{"name":"t${i}"}`);
  const odd = [
    'null',
    '{"noName":1}',
    '{"name":7}',
    '{"name":"o","inputSchema":null}',
    '{"name":"p","inputSchema":{"type":"array"}}',
  ];
  const deep = `{"name":"deep","inputSchema":${'{"x-mcp-header-not":1,"anyOf":['.repeat(2000)}{}${']}'.repeat(2000)}}`;
  const stage = stageOf({ servers: { s: { era: 'modern', tools: [...odd, deep, ...good] } } });
  const listed = await stage.ask('tools/list');
  assert.equal(names(listed).length, 16);
  assert.ok(textOf(listed).includes(deep));
  assert.equal(stage.warnings.length, 2);
});

test('GB-128: names with a leading digit or underscore, with dots and in two cases are all kept', async () => {
  const own = ['_a', '1a', 'A.b-c_d', 'getUser', 'getuser'];
  const stage = stageOf({ servers: { s: { tools: own.map((name) => JSON.stringify({ name })) } } });
  assert.deepEqual(names(await stage.ask('tools/list')), own);
});

test('GB-089 GB-090 GB-092: a call’s result passes as it is, content, structuredContent, isError, vendor members', async () => {
  const members =
    '"content":[{"type":"text","text":""},{"type":"resource_link","uri":"file:///r.txt","name":"r"},{"type":"hologram","x":1}],' +
    '"structuredContent":[1,{"a":null},"x",12345678901234567890],"isError":true,"vendorField":true';
  const stage = stageOf({ servers: { s: { call: () => result(members, { meta: '"com.example/k":{"n":1}' }) } } });
  const answer = await stage.ask('tools/call', '{"name":"t"}');
  assert.equal(textOf(answer), `{${members}}`);
  assert.equal(answer.kind === 'result' && answer.meta, '"com.example/k":{"n":1}');
});

test('GB-095: params go on byte for byte, without what belongs to the hop', async () => {
  const stage = stageOf({ servers: { s: {} } });
  const params =
    '{ "name" : "t", "_meta":{"x":1}, "arguments":{"b":12345678901234567890,"a": 1.0},"vendor":[ 1 ], "task":{"ttl":1}}';
  await stage.ask('tools/call', params, { meta: '"com.example/x":{"y":1}' });
  const [sent] = stage.sentOf('tools/call');
  assert.equal(bodyOf(sent), '{"name" : "t","arguments":{"b":12345678901234567890,"a": 1.0},"vendor":[ 1 ]}');
  assert.equal(sent!.meta, '"com.example/x":{"y":1}');
  assert.equal(sent!.name, 't');
  assert.equal(sent!.server, 's');
  assert.equal(sent!.digest, 'digest-of-s');
  assert.equal(sent!.safe, false);
  assert.equal(sent!.deadlineMs, 75_000);
});

test('inputResponses travel raw behind the params; a requestState that nobody gave out is refused', async () => {
  const stage = stageOf({ servers: { s: {} } });
  await stage.ask('tools/call', '{"inputResponses":{"k": {"action":"accept","n":1.0}},"name":"t"}');
  const [sent] = stage.sentOf('tools/call');
  assert.equal(bodyOf(sent), '{"name":"t","inputResponses":{"k": {"action":"accept","n":1.0}}}');
  const forged = await stage.ask('tools/call', '{"name":"t","requestState":"lk1.a.AAAA"}');
  assert.equal(refusalOf(forged).reason, 'bad-state');
  assert.equal(stage.sentOf('tools/call').length, 1);
});

test('GB-055 GB-056: a read has valid caching fields and is private, whatever the server said', async () => {
  const contents = '"contents":[{"uri":"a://1","text":"x"}]';
  const table: [string, number][] = [
    [contents, 0],
    [`${contents},"ttlMs":5000,"cacheScope":"public"`, 5000],
    [`"ttlMs":-1,${contents},"cacheScope":null`, 0],
    [`"ttlMs":"7",${contents}`, 0],
  ];
  for (const [members, ttlMs] of table) {
    const stage = stageOf({ servers: { s: { call: () => members } } });
    const text = textOf(await stage.ask('resources/read', '{"uri":"a://1"}'));
    assert.deepEqual(JSON.parse(text), { ...JSON.parse(`{${contents}}`), ttlMs, cacheScope: 'private' });
    assert.equal(text.match(/ttlMs/g)?.length, 1);
  }
});

test('GB-057: a result type that nobody can have asked for is not passed on', async () => {
  for (const resultType of ['input_required', 'task', 'weird']) {
    const stage = stageOf({ servers: { s: { call: () => result('"content":[]', { resultType }) } } });
    assert.equal(refusalOf(await stage.ask('tools/call', '{"name":"t"}')).reason, 'upstream-protocol');
  }
});

test('progress and logs come through in order; a shared server is asked for no logs', async () => {
  const events: [string, string][] = [
    ['notifications/progress', '"progress":1'],
    ['notifications/message', '"level":"info","logger":"l","data":1'],
  ];
  const heard: [string, string][] = [];
  const listener = { event: (method: string, m: Uint8Array) => void heard.push([method, Buffer.from(m).toString()]) };
  const stage = stageOf({ servers: { s: { events } } });
  await stage.ask('tools/call', '{"name":"t"}', { listener, logLevel: 'info' });
  assert.deepEqual(heard.slice(-2), events);
  assert.equal(stage.sentOf('tools/call')[0]!.logLevel, 'info');
  const shared = stageOf({ servers: { s: {} }, isolation: 'shared' });
  await shared.ask('tools/call', '{"name":"t"}', { logLevel: 'info' });
  assert.equal(shared.sentOf('tools/call')[0]!.logLevel, undefined);
});

test('a warm call is one message over the link and asks the store nothing', async () => {
  const stage = stageOf({ servers: { s: {} } });
  await stage.ask('tools/call', '{"name":"t"}');
  const before = stage.sent.length;
  let touched = 0;
  for (const method of ['get', 'set', 'getMany'] as const) {
    const own = stage.store[method].bind(stage.store) as (...args: never[]) => never;
    const counted = (...args: never[]) => {
      touched++;
      return own(...args);
    };
    Object.assign(stage.store, { [method]: counted });
  }
  await stage.ask('tools/call', '{"name":"t"}');
  assert.deepEqual(
    stage.sent.slice(before).map((r) => r.method),
    ['tools/call'],
  );
  assert.equal(touched, 0);
});

test('GB-100: a server that declares a list and does not know it has an empty one', async () => {
  const before = (request: { method: string }) =>
    request.method === 'resources/list' ? fault('upstream', { code: -32601, message: 'Method not found' }) : undefined;
  const stage = stageOf({ servers: { s: { before } } });
  assert.deepEqual(read(await stage.ask('resources/list')).resources, []);
});

test('methods of a capability the server has not, and methods of no registry, are unknown', async () => {
  const stage = stageOf({ servers: { s: { capabilities: { tools: {} } } } });
  const asks: [string, string][] = [
    ['prompts/list', '{}'],
    ['prompts/get', '{"name":"p"}'],
    ['resources/list', '{}'],
    ['resources/templates/list', '{}'],
    ['resources/read', '{"uri":"a://"}'],
    ['completion/complete', '{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}'],
    ['tasks/get', '{"taskId":"1"}'],
    ['subscriptions/listen', '{}'],
    ['foo/bar', '{}'],
    ['initialize', '{}'],
    ['lk/anything', '{}'],
  ];
  for (const [method, params] of asks) {
    assert.equal(refusalOf(await stage.ask(method, params)).reason, 'unknown-method', method);
  }
  assert.deepEqual(names(await stage.ask('tools/list')), []);
});

test('a server of 2024-11-05 cannot declare completions, so they are tried', async () => {
  const capabilities = { prompts: {} };
  const params = '{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}';
  const knows = stageOf({
    servers: { s: { capabilities, revision: '2024-11-05', call: () => '"completion":{"values":["x"]}' } },
  });
  assert.deepEqual(read(await knows.ask('completion/complete', params)).completion.values, ['x']);
  const call = () => fault('upstream', { code: -32603, legacyCode: -32601 });
  const knowsNot = stageOf({ servers: { s: { capabilities, revision: '2024-11-05', call } } });
  assert.equal(refusalOf(await knowsNot.ask('completion/complete', params)).reason, 'unknown-method');
});

test('params that name nothing are invalid', async () => {
  const stage = stageOf({ servers: { s: {} } });
  for (const [method, params] of [
    ['tools/call', '{}'],
    ['tools/call', '{"name":7}'],
    ['prompts/get', '{"name":null}'],
    ['resources/read', '{}'],
    ['completion/complete', '{"ref":{"type":"ref/odd","name":"p"}}'],
    ['tools/call', '{"name":"t","inputResponses":[]}'],
  ] as const) {
    assert.equal(refusalOf(await stage.ask(method, params)).reason, 'invalid-params', `${method} ${params}`);
  }
  assert.deepEqual(metaOf(await stage.ask('tools/list')), {});
});

describe('GB-097 (d): a tool that the server does not list', () => {
  const servers = (): Record<string, FakeServer> => ({ s: { tools: ['{"name":"t"}'] } });
  const CALL = '{"name":"nobody"}';

  it('is unknown to a modern caller once the list is known, and nothing is called', async () => {
    const stage = stageOf({ servers: servers() });
    await stage.ask('tools/list');
    for (let i = 0; i < 10; i++) {
      const refusal = refusalOf(await stage.ask('tools/call', CALL));
      assert.deepEqual(refusal, { reason: 'unknown-name', message: 'Unknown tool: nobody' });
    }
    assert.deepEqual([stage.sentOf('tools/call').length, stage.sentOf('tools/list').length], [0, 1]);
  });

  it('is called when it has come since', async () => {
    const now = servers();
    const stage = stageOf({ servers: now });
    await stage.ask('tools/list');
    now.s!.tools = ['{"name":"nobody"}'];
    stage.clock.advance(3000);
    assert.equal((await stage.ask('tools/call', CALL)).kind, 'result');
    assert.equal((await stage.ask('tools/call', CALL)).kind, 'result');
    assert.equal(stage.sentOf('tools/list').length, 2);
  });

  it('is the server’s to judge where no list is known, where it cannot be had, and for a legacy caller', async () => {
    const cold = stageOf({ servers: servers() });
    assert.equal((await cold.ask('tools/call', CALL)).kind, 'result');
    assert.equal(cold.sentOf('tools/list').length, 0);
    const now = servers();
    const stage = stageOf({ servers: now });
    await stage.ask('tools/list');
    assert.equal((await stage.ask('tools/call', CALL, { era: 'legacy' })).kind, 'result');
    stage.clock.advance(3000);
    now.s!.before = (request) => (request.method === 'tools/list' ? fault('unavailable') : undefined);
    assert.equal((await stage.ask('tools/call', CALL)).kind, 'result');
  });

  it('costs calls of a listed one nothing', async () => {
    const stage = stageOf({ servers: servers() });
    await stage.ask('tools/list');
    stage.clock.advance(3_600_000);
    assert.equal((await stage.ask('tools/call', '{"name":"t"}')).kind, 'result');
    assert.equal(stage.sentOf('tools/list').length, 1);
  });
});
