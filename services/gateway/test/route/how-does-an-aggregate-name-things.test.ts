import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allow, bodyOf, type FakeServer, fault, names, refusalOf, stageOf } from './stage.ts';

const ALL = { route: '/all' };
const named = (...all: string[]) => all.map((name) => JSON.stringify({ name }));

/** Every listed name is called; gives what the server was called with. */
async function roundTrip(servers: Record<string, FakeServer>): Promise<{ listed: string[]; called: string[] }> {
  const stage = stageOf({ servers });
  const listed = names(await stage.ask('tools/list', '{}', ALL));
  for (const name of listed) {
    const answer = await stage.ask('tools/call', JSON.stringify({ name }), ALL);
    assert.equal(answer.kind, 'result', name);
  }
  return { listed, called: stage.sentOf('tools/call').map((r) => `${r.server}:${JSON.parse(bodyOf(r)).name}`) };
}

test('GB-123: long names are cut and hashed, stay apart, and reach the server whole', async () => {
  const server = 'corp.cloud-infra-mcp-server';
  const long = 'describe_stack_pre_deployment_validation_instructions';
  const own = [long, `${'x'.repeat(60)}-one`, `${'x'.repeat(60)}-two`, 'y'.repeat(128)];
  const { listed, called } = await roundTrip({ [server]: { tools: named(...own) } });
  assert.deepEqual(
    called,
    own.map((name) => `${server}:${name}`),
  );
  for (const name of listed) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
  assert.equal(new Set(listed).size, own.length);
  assert.deepEqual((await roundTrip({ [server]: { tools: named(...own) } })).listed, listed);
});

test('GB-124: names with characters that model APIs refuse get safe ones, an empty one is withheld', async () => {
  const own = ['ns/tool', 'a.b', 'a:b', 'wörk', 'has space', 'x'.repeat(129), '_5x', '9t', '-t'];
  const { listed, called } = await roundTrip({ s: { tools: named('', ...own) } });
  assert.deepEqual(
    called,
    own.map((name) => `s:${name}`),
  );
  for (const name of listed) assert.match(name, /^[A-Za-z0-9_-]{1,64}$/);
  assert.equal(new Set(listed).size, own.length);
});

test('GB-127: a name is the same with one server and with more, and with another beside it that reads alike', async () => {
  const one = await roundTrip({ a: { tools: named('b__c', 'c') } });
  assert.deepEqual(one.listed, ['a__b__c', 'a__c']);
  const two = await roundTrip({
    a: { tools: named('b__c', 'c') },
    a__b: { tools: named('c') },
    a_: { tools: named('b__c') },
  });
  assert.deepEqual(two.listed.slice(0, 2), one.listed);
  assert.equal(new Set(two.listed).size, 4);
  assert.deepEqual(two.called, ['a:b__c', 'a:c', 'a__b:c', 'a_:b__c']);
});

test('GB-126: a tool that another replica listed later than our table is found by a refresh', async () => {
  const servers: Record<string, FakeServer> = { s: { tools: named('old') } };
  const stage = stageOf({ servers });
  await stage.ask('tools/call', '{"name":"s__old"}', ALL);
  servers.s!.tools = named('old', 'new');
  stage.clock.advance(5000);
  assert.equal((await stage.ask('tools/call', '{"name":"s__new"}', ALL)).kind, 'result');
});

test('GB-126: while the pool is exhausted a listed tool is busy, never unknown', async () => {
  const before = (r: { method: string }) =>
    r.method === 'tools/call' ? fault('busy', { retryAfterMs: 500 }) : undefined;
  const warm = stageOf({ servers: { s: { tools: named('t'), before } } });
  await warm.ask('tools/list', '{}', ALL);
  assert.deepEqual(refusalOf(await warm.ask('tools/call', '{"name":"s__t"}', ALL)), {
    reason: 'busy',
    message: 'All processes of server "s" are busy.',
    retryAfterMs: 500,
  });
  const cold = stageOf({ servers: { s: { before: () => fault('busy') } } });
  assert.equal(refusalOf(await cold.ask('tools/call', '{"name":"s__t"}', ALL)).reason, 'busy');
});

test('a hidden tool and one that does not exist take the same way, to the last request upstream', async () => {
  const policy = [{ name: 'r', tenant: 'acme', groups: ['dev'], allow: [allow('s', { tools: ['seen'] })] }];
  const stage = stageOf({ servers: { s: { tools: named('seen', 'hidden') } }, policy });
  await stage.ask('tools/list', '{}', ALL);
  stage.clock.advance(3000);
  const before = stage.sent.length;
  const hidden = refusalOf(await stage.ask('tools/call', '{"name":"s__hidden"}', ALL));
  const between = stage.sent.length;
  stage.clock.advance(3000);
  const unknown = refusalOf(await stage.ask('tools/call', '{"name":"s__nothing"}', ALL));
  assert.deepEqual(hidden, { reason: 'unknown-name', message: 'Unknown tool: s__hidden' });
  assert.deepEqual(unknown, { reason: 'unknown-name', message: 'Unknown tool: s__nothing' });
  assert.equal(between - before, stage.sent.length - between);
  assert.equal(stage.sentOf('tools/call').length, 0);
});

test('a server that the policy hides is not there: no names, no resources, not started', async () => {
  const policy = [{ name: 'r', tenant: 'acme', groups: ['dev'], allow: [allow('a')] }];
  const servers = { a: { tools: named('t') }, b: { tools: named('t'), instructions: 'secret' } };
  const stage = stageOf({ servers, policy });
  assert.deepEqual(names(await stage.ask('tools/list', '{}', ALL)), ['a__t']);
  assert.equal(refusalOf(await stage.ask('tools/call', '{"name":"b__t"}', ALL)).message, 'Unknown tool: b__t');
  assert.equal(refusalOf(await stage.ask('resources/read', '{"uri":"x://#lk.b"}', ALL)).reason, 'unknown-resource');
  await stage.ask('server/discover', '{}', ALL);
  assert.deepEqual(new Set(stage.sent.map((r) => r.server)), new Set(['a']));
});

test('a name that begins like no server’s asks nobody', async () => {
  const stage = stageOf({ servers: { a: { tools: named('t') } } });
  for (const name of ['t', 'zz__t', '', 'a_t']) {
    assert.equal(
      refusalOf(await stage.ask('tools/call', JSON.stringify({ name }), ALL)).message,
      `Unknown tool: ${name}`,
    );
  }
  assert.equal(stage.sent.length, 0);
});
