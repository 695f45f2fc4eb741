// Every place of protocol.md §5.7, one by one, and what must stay as it was.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf, fault, metaOf, names, read, refusalOf, result, stageOf, textOf } from './stage.ts';

const ALL = { route: '/all' };
const SIBLINGS = '"big":12345678901234567890, "e" : 1.0e5,"vendor":{"uri":"file:///r.txt","name":"say"}';

test('GB-049: a tool is listed under the aggregate’s name and called under the server’s own', async () => {
  const stage = stageOf({
    servers: { a: { tools: [`{${SIBLINGS},"name":"say"}`] }, b: { tools: ['{"name":"say"}'] } },
  });
  const listed = textOf(await stage.ask('tools/list', '{}', ALL));
  assert.ok(listed.includes(`{${SIBLINGS},"name":"a__say"}`), listed);
  await stage.ask('tools/call', '{"arguments":{"name":"a__say","n":1.50},"name":"b__say","x":[ ]}', ALL);
  const [sent] = stage.sentOf('tools/call');
  assert.equal(sent!.server, 'b');
  assert.equal(sent!.name, 'say');
  assert.equal(bodyOf(sent), '{"arguments":{"name":"a__say","n":1.50},"name":"say","x":[ ]}');
});

test('prompts likewise', async () => {
  const stage = stageOf({ servers: { a: { prompts: [`{"name":"p",${SIBLINGS}}`] } } });
  assert.ok(textOf(await stage.ask('prompts/list', '{}', ALL)).includes(`{"name":"a__p",${SIBLINGS}}`));
  await stage.ask('prompts/get', '{"name":"a__p"}', ALL);
  assert.equal(bodyOf(stage.sentOf('prompts/get')[0]), '{"name":"p"}');
});

test('GB-094: two servers’ resources of one URI stay two, and each read reaches its own', async () => {
  const one = (name: string) => ({
    resources: ['{"uri":"config://app","name":"config://app"}'],
    templates: ['{"uriTemplate":"db://{t}","name":"t"}'],
    call: () => `"contents":[{"uri":"config://app","text":"of ${name}, see config://app"}]`,
  });
  const stage = stageOf({ servers: { a: one('a'), b: one('b') } });
  const uris = names(await stage.ask('resources/list', '{}', ALL), 'resources', 'uri');
  assert.deepEqual(uris, ['config://app#lk.a', 'config://app#lk.b']);
  const templates = names(await stage.ask('resources/templates/list', '{}', ALL), 'resourceTemplates', 'uriTemplate');
  assert.deepEqual(templates, ['db://{t}#lk.a', 'db://{t}#lk.b']);
  for (const server of ['a', 'b']) {
    const { contents } = read(
      await stage.ask('resources/read', JSON.stringify({ uri: `config://app#lk.${server}` }), ALL),
    );
    assert.deepEqual(contents, [{ uri: `config://app#lk.${server}`, text: `of ${server}, see config://app` }]);
  }
  assert.deepEqual(
    stage.sentOf('resources/read').map((r) => bodyOf(r)),
    ['{"uri":"config://app"}', '{"uri":"config://app"}'],
  );
});

test('GB-093: every URI in a call’s result can be read, its scheme kept; text and structuredContent stay', async () => {
  const content = [
    `{"type":"resource_link","uri":"file:///r.txt",${SIBLINGS}}`,
    `{"type":"resource","resource":{"uri":"file:///e#frag","text":"file:///r.txt","_meta":{"ui":{"resourceUri":"ui://n/1"}}},"annotations":{}}`,
    '{"type":"text","text":"read file:///r.txt","uri":"file:///r.txt"}',
    '{"type":"text","text":"t","_meta":{"ui/resourceUri":"ui://o/1","k":"ui://o/1"}}',
    '{"type":"hologram","uri":"file:///r.txt"}',
  ];
  const members = `"content":[${content.join(' , ')}],"structuredContent":{"uri":"file:///r.txt","n":12345678901234567890}`;
  const meta = '"ui":{"resourceUri":"ui://w/1.html","x":1},"ui/resourceUri":"ui://w/2.html","com.example/k":1.0';
  const stage = stageOf({ servers: { a: { tools: ['{"name":"t"}'], call: () => result(members, { meta }) } } });
  const answer = await stage.ask('tools/call', '{"name":"a__t"}', ALL);
  const expected = [
    `{"type":"resource_link","uri":"file:///r.txt#lk.a",${SIBLINGS}}`,
    `{"type":"resource","resource":{"uri":"file:///e#frag&lk.a","text":"file:///r.txt","_meta":{"ui":{"resourceUri":"ui://n/1#lk.a"}}},"annotations":{}}`,
    content[2],
    '{"type":"text","text":"t","_meta":{"ui/resourceUri":"ui://o/1#lk.a","k":"ui://o/1"}}',
    content[4],
  ];
  assert.equal(
    textOf(answer),
    `{"content":[${expected.join(' , ')}],"structuredContent":{"uri":"file:///r.txt","n":12345678901234567890}}`,
  );
  assert.equal(
    answer.kind === 'result' && answer.meta,
    '"ui":{"resourceUri":"ui://w/1.html#lk.a","x":1},"ui/resourceUri":"ui://w/2.html#lk.a","com.example/k":1.0',
  );
  await stage.ask('resources/read', '{"uri":"file:///e#frag&lk.a"}', ALL);
  assert.equal(bodyOf(stage.sentOf('resources/read')[0]), '{"uri":"file:///e#frag"}');
});

test('MCP Apps: a listed tool’s ui resource is read under the URI that the list gave', async () => {
  const tool =
    '{"name":"app","_meta":{"ui":{"resourceUri":"ui://w/1.html","visibility":["app"]},"ui/resourceUri":"ui://w/1.html"}}';
  const stage = stageOf({ servers: { a: { tools: [tool] } } });
  const { tools } = read(await stage.ask('tools/list', '{}', ALL));
  assert.deepEqual(tools[0]._meta, {
    ui: { resourceUri: 'ui://w/1.html#lk.a', visibility: ['app'] },
    'ui/resourceUri': 'ui://w/1.html#lk.a',
  });
});

test('prompt messages: embedded resources and links, in one block or several', async () => {
  const members =
    '"description":"see a://1","messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a://1","text":""}}},' +
    '{"role":"user","content":[{"type":"resource_link","uri":"a://2","name":"n"},{"type":"text","text":"a://1"}]}]';
  const stage = stageOf({ servers: { a: { prompts: ['{"name":"p"}'], call: () => members } } });
  assert.equal(
    textOf(await stage.ask('prompts/get', '{"name":"a__p"}', ALL)),
    `{${members.replace('"uri":"a://1"', '"uri":"a://1#lk.a"').replace('"uri":"a://2"', '"uri":"a://2#lk.a"')}}`,
  );
});

test('completion: the reference is the server’s own on the way up, values are nobody’s', async () => {
  const server = { prompts: ['{"name":"p"}'], call: () => '"completion":{"values":["a__p","a://1"],"total":2}' };
  const stage = stageOf({ servers: { a: server, b: server } });
  const asks = [
    [
      '{"ref":{"name":"b__p","type":"ref/prompt"},"argument":{"name":"n","value":"b__p"}}',
      '{"ref":{"name":"p","type":"ref/prompt"},"argument":{"name":"n","value":"b__p"}}',
    ],
    [
      '{"argument":{"name":"n","value":""},"ref":{"type":"ref/resource","uri":"db://{t}#lk.b"}}',
      '{"argument":{"name":"n","value":""},"ref":{"type":"ref/resource","uri":"db://{t}"}}',
    ],
  ] as const;
  for (const [params] of asks) {
    assert.deepEqual(read(await stage.ask('completion/complete', params, ALL)).completion.values, ['a__p', 'a://1']);
  }
  assert.deepEqual(
    stage.sentOf('completion/complete').map((r) => [r.server, bodyOf(r)]),
    asks.map(([, up]) => ['b', up]),
  );
});

test('logs say whose they are by their logger; progress has nothing to say', async () => {
  const events: [string, string][] = [
    ['notifications/message', '"level":"info","logger":"l","data":{"logger":"l","n":1.0}'],
    ['notifications/message', '"level":"info","data":"x"'],
    ['notifications/progress', '"progress":1'],
  ];
  const heard: string[] = [];
  const listener = {
    event: (_method: string, members: Uint8Array) => void heard.push(Buffer.from(members).toString()),
  };
  const stage = stageOf({ servers: { a: { tools: ['{"name":"t"}'] } } });
  await stage.ask('tools/list', '{}', ALL);
  stage.servers.a!.events = events;
  await stage.ask('tools/call', '{"name":"a__t"}', { ...ALL, listener, logLevel: 'info' });
  assert.deepEqual(heard, [
    '"level":"info","logger":"a/l","data":{"logger":"l","n":1.0}',
    '"logger":"a","level":"info","data":"x"',
    '"progress":1',
  ]);
});

test('an error about a resource names it as the caller knows it', async () => {
  const call = () => fault('upstream', { code: -32602, message: 'no such', data: '{"uri":"a://1","why":"gone"}' });
  const stage = stageOf({ servers: { a: { call } } });
  const refusal = refusalOf(await stage.ask('resources/read', '{"uri":"a://1#lk.a"}', ALL));
  assert.equal(refusal.data, '{"uri":"a://1#lk.a","why":"gone"}');
});

test('a URI without a suffix, with a stranger’s, or of no server of this route is not found', async () => {
  const stage = stageOf({ servers: { a: {} } });
  for (const uri of ['a://1', 'a://1#lk.zz', 'a://1#lk.', '#lk.a&', 'a://1&lk.a']) {
    const refusal = refusalOf(await stage.ask('resources/read', JSON.stringify({ uri }), ALL));
    assert.deepEqual(refusal, {
      reason: 'unknown-resource',
      message: `Resource not found: ${uri}`,
      data: JSON.stringify({ uri }),
      legacyCode: -32002,
    });
  }
  assert.equal(stage.sent.length, 0);
});

test('a result without any URI is the very bytes that came', async () => {
  const members = '"content" : [ {"type":"text","text":"x"} ] , "n":1.0';
  const stage = stageOf({ servers: { a: { tools: ['{"name":"t"}'], call: () => members } } });
  const answer = await stage.ask('tools/call', '{"name":"a__t"}', ALL);
  assert.equal(textOf(answer), `{${members}}`);
  assert.deepEqual(metaOf(answer), {});
});

test('an answer names the server that it is from, and a refusal about a server too', async () => {
  const stage = stageOf({ servers: { a: { tools: ['{"name":"t"}'] }, b: { before: () => fault('lost') } } });
  assert.equal((await stage.ask('tools/call', '{"name":"a__t"}', ALL)).server, 'a');
  assert.equal((await stage.ask('tools/call', '{"name":"b__t"}', ALL)).server, 'b');
  assert.equal((await stage.ask('tools/call', '{"name":"a__t","requestState":"x"}', ALL)).server, 'a');
  assert.equal((await stage.ask('tools/call', '{"name":"c__t"}', ALL)).server, undefined);
});
