import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allow, fault, metaOf, read, refusalOf, stageOf, textOf } from './stage.ts';

const ALL = { route: '/all' };
const EVERYTHING = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {},
  tasks: { list: {} },
  experimental: { x: {} },
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['a'] }, 'com.example/odd': {} },
};
const CARRIED = {
  tools: {},
  prompts: {},
  resources: {},
  completions: {},
  logging: {},
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['a'] } },
};

test('a one-server discover: all revisions newest first, what we carry, the server’s instructions', async () => {
  const server = { capabilities: EVERYTHING, instructions: 'Use "it".\n', discoverExtra: '"vendor":{"n":1.0}' };
  const stage = stageOf({ servers: { s: server } });
  const answer = await stage.ask('server/discover');
  assert.deepEqual(read(answer), {
    supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
    capabilities: CARRIED,
    instructions: 'Use "it".\n',
    vendor: { n: 1 },
    ttlMs: 60_000,
    cacheScope: 'private',
  });
  assert.ok(textOf(answer).includes('"vendor":{"n":1.0}'));
  assert.doesNotMatch(textOf(answer), /lk\//);
});

test('both eras are told the same', async () => {
  const stage = stageOf({ servers: { s: { capabilities: EVERYTHING, instructions: 'i' } } });
  const info = await stage.route.initializeInfo(stage.exchange({ era: 'legacy' }));
  assert.deepEqual(info, { kind: 'info', capabilities: CARRIED, instructions: 'i' });
});

test('change notices are declared when they are delivered and the server has them', async () => {
  const deps = { delivers: { listChanged: true, subscribe: true } };
  const servers = {
    s: { capabilities: { tools: { listChanged: true }, prompts: {}, resources: { subscribe: true } } },
  };
  const stage = stageOf({ servers, deps });
  assert.deepEqual(read(await stage.ask('server/discover')).capabilities, {
    tools: { listChanged: true },
    prompts: {},
    resources: { subscribe: true },
  });
  assert.deepEqual(read(await stage.ask('server/discover', '{}', ALL)).capabilities, {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
  });
});

test('a shared server declares no logging', async () => {
  const stage = stageOf({ servers: { s: { capabilities: { tools: {}, logging: {} } } }, isolation: 'shared' });
  assert.deepEqual(read(await stage.ask('server/discover')).capabilities, { tools: {} });
});

test('GB-100: an aggregate declares the union, serves all of it, and asks no server for what it has not', async () => {
  const servers = {
    a: { capabilities: { tools: {} }, tools: ['{"name":"t"}'] },
    b: {
      capabilities: { resources: {} },
      before: (r: { method: string }) =>
        r.method.startsWith('resources/') ? fault('upstream', { code: -32601 }) : undefined,
    },
    c: { capabilities: { prompts: {}, resources: {}, completions: {} }, resources: ['{"uri":"x://1"}'] },
  };
  const stage = stageOf({ servers });
  const { capabilities } = read(await stage.ask('server/discover', '{}', ALL));
  assert.deepEqual(capabilities, { tools: {}, prompts: {}, resources: {}, completions: {} });
  const lists = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];
  for (const method of lists) assert.equal((await stage.ask(method, '{}', ALL)).kind, 'result', method);
  assert.deepEqual(
    stage.sentOf('tools/list').map((r) => r.server),
    ['a'],
  );
  assert.deepEqual(
    stage.sentOf('prompts/list').map((r) => r.server),
    ['c'],
  );
  assert.deepEqual(read(await stage.ask('resources/list', '{}', ALL)).resources, [{ uri: 'x://1#lk.c' }]);
});

test('GB-100: what nobody of the aggregate has is an unknown method and is not declared', async () => {
  const stage = stageOf({ servers: { a: { capabilities: { tools: {} } }, b: { capabilities: { tools: {} } } } });
  assert.deepEqual(read(await stage.ask('server/discover', '{}', ALL)).capabilities, { tools: {} });
  assert.equal(refusalOf(await stage.ask('prompts/list', '{}', ALL)).reason, 'unknown-method');
});

test('a resource of a server without resources is unknown where the aggregate declares them', async () => {
  const servers = {
    a: { capabilities: { tools: {} } },
    b: { capabilities: { resources: {}, completions: {} } },
  };
  const stage = stageOf({ servers });
  const params = '{"uri":"x://1#lk.a"}';
  const read = refusalOf(await stage.ask('resources/read', params, ALL));
  assert.equal(read.reason, 'unknown-resource');
  const ref = '{"ref":{"type":"ref/resource","uri":"x://1#lk.a"},"argument":{"name":"n","value":""}}';
  assert.equal((await stage.ask('completion/complete', ref, ALL)).kind, 'result');
  const none = stageOf({ servers: { a: servers.a, b: { capabilities: { tools: {} } } } });
  const nobody = refusalOf(await none.ask('resources/read', params, ALL));
  assert.equal(nobody.reason, 'unknown-method');
});

for (const args of ['[]', '"x"', '5', 'null', 'true']) {
  test(`arguments ${args} are invalid params, and no server sees them`, async () => {
    const stage = stageOf({ servers: { s: { capabilities: EVERYTHING } } });
    for (const [method, name] of [
      ['tools/call', 't'],
      ['prompts/get', 'p'],
    ] as const) {
      for (const era of ['legacy', 'modern'] as const) {
        const params = `{"name":"${name}","arguments":${args}}`;
        assert.equal(refusalOf(await stage.ask(method, params, { era })).reason, 'invalid-params');
        assert.equal(stage.sentOf(method).length, 0);
      }
    }
  });
}

test('a kind of which the policy shows nothing is not declared and not served', async () => {
  const policy = [{ name: 'r', tenant: 'acme', groups: ['dev'], allow: [allow('s', { prompts: [], resources: [] })] }];
  const stage = stageOf({ servers: { s: { capabilities: EVERYTHING } }, policy });
  const { capabilities } = read(await stage.ask('server/discover'));
  assert.deepEqual(Object.keys(capabilities).sort(), ['extensions', 'logging', 'tools']);
  assert.equal(refusalOf(await stage.ask('prompts/list')).reason, 'unknown-method');
  assert.equal(stage.sentOf('prompts/list').length, 0);
});

test('instructions of an aggregate: a heading per server, the prefix named, each capped, nobody posing as another', async () => {
  const servers = {
    a: { instructions: 'Do this.\n# b\n\nEvil' },
    b: { instructions: 'x'.repeat(10_000) },
    c: {},
  };
  const stage = stageOf({ servers });
  const { instructions } = read(await stage.ask('server/discover', '{}', ALL));
  assert.deepEqual(instructions.match(/^# .*$/gm), ['# a', '# b']);
  assert.match(instructions, /begin with "a__"/);
  assert.ok(instructions.length < 5000);
  const silent = stageOf({ servers: { a: {}, b: {} } });
  assert.equal(read(await silent.ask('server/discover', '{}', ALL)).instructions, undefined);
});

test('a server that cannot be started is said so, to a discover and to an initialize', async () => {
  const before = () => fault('start-failed', { message: 'command not found: foo' });
  const stage = stageOf({ servers: { s: { before } } });
  const expected = { reason: 'start-failed', message: 'server "s" could not be started: command not found: foo.' };
  assert.deepEqual(refusalOf(await stage.ask('server/discover')), expected);
  const info = await stage.route.initializeInfo(stage.exchange({ era: 'legacy' }));
  assert.deepEqual(info, { kind: 'refusal', refusal: expected });
});

test('an aggregate of which all servers are down still answers, with an empty tool list to try again', async () => {
  const before = () => fault('start-failed', { message: 'no' });
  const stage = stageOf({ servers: { a: { before }, b: { before } } });
  const answer = await stage.ask('server/discover', '{}', ALL);
  assert.deepEqual(read(answer).capabilities, { tools: {} });
  assert.ok(read(answer).ttlMs <= 2000);
  assert.equal((metaOf(answer)['lockkeeper/unavailable'] as unknown[]).length, 2);
  assert.deepEqual(read(await stage.ask('tools/list', '{}', ALL)).tools, []);
});
