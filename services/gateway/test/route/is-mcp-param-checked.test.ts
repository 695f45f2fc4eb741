import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FakeServer, fault, names, refusalOf, stageOf } from './stage.ts';

const schema =
  '{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},' +
  '"dry":{"type":"boolean","x-mcp-header":"Dry"},"free":{"type":"string"}}}';
const annotated = `{"name":"q","inputSchema":${schema}}`;
const plain = '{"name":"q","inputSchema":{"type":"object","properties":{"region":{"type":"string"}}}}';
const bad = '{"name":"broken","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}}';

const modern = (more: Partial<FakeServer> = {}): Record<string, FakeServer> => ({
  s: { era: 'modern', tools: [annotated, '{"name":"free"}', bad], ...more },
});
const call = (args: string) => `{"name":"q","arguments":${args}}`;

const table: [string, string, Record<string, string>, boolean][] = [
  ['all equal', '{"region":"eu","n":42,"dry":true}', { region: 'eu', n: '42', dry: 'true' }, true],
  ['(b) another value', '{"region":"us"}', { region: 'eu' }, false],
  ['(c) missing', '{"region":"us"}', {}, false],
  ['(d) sent for null', '{"region":null}', { region: 'eu' }, false],
  ['sent for an absent argument', '{}', { region: 'eu' }, false],
  ['(e) an integer by its value', '{"n":42}', { n: '42.0' }, true],
  ['(h) an unknown one', '{"free":"x"}', { zzz: '1' }, true],
  ['base64', '{"region":"é"}', { region: '=?base64?w6k=?=' }, true],
  ['bad base64', '{"region":"é"}', { region: '=?base64?!!!?=' }, false],
  ['(f) two of a name, joined', '{"region":"eu"}', { region: 'eu, eu' }, false],
];

for (const [why, args, paramHeaders, fine] of table) {
  test(`GB-052: ${why} is ${fine ? 'accepted' : 'refused and not run'}, on a cold replica too`, async () => {
    const stage = stageOf({ servers: modern() });
    const answer = await stage.ask('tools/call', call(args), { paramHeaders });
    if (fine) assert.equal(answer.kind, 'result');
    else assert.match(refusalOf(answer).message ?? '', /^Mcp-Param-/);
    if (!fine) assert.equal(refusalOf(answer).reason, 'header-mismatch');
    assert.equal(stage.sentOf('tools/call').length, fine ? 1 : 0);
  });
}

test('the check is made under the aggregate’s name as well', async () => {
  const stage = stageOf({ servers: modern() });
  const params = '{"name":"s__q","arguments":{"region":"us"}}';
  assert.equal(refusalOf(await stage.ask('tools/call', params, { route: '/all' })).reason, 'header-mismatch');
  const paramHeaders = { region: 'us' };
  assert.equal((await stage.ask('tools/call', params, { route: '/all', paramHeaders })).kind, 'result');
});

test('a mismatch by an old schema refreshes the list once and is then no mismatch', async () => {
  const servers = modern({ tools: [plain] });
  const stage = stageOf({ servers });
  await stage.ask('tools/call', call('{"region":"eu"}'));
  servers.s!.tools = [annotated];
  stage.clock.advance(3000);
  const paramHeaders = { region: 'eu' };
  // By the old schema the header is unknown, which is fine; by the new one it is right.
  assert.equal((await stage.ask('tools/call', call('{"region":"eu"}'), { paramHeaders })).kind, 'result');
  stage.clock.advance(60_000);
  assert.equal(refusalOf(await stage.ask('tools/call', call('{"region":"eu"}'))).reason, 'header-mismatch');
  servers.s!.tools = [plain];
  stage.clock.advance(3000);
  const loads = stage.sentOf('tools/list').length;
  assert.equal((await stage.ask('tools/call', call('{"region":"eu"}'))).kind, 'result');
  assert.equal(stage.sentOf('tools/list').length, loads + 1);
});

test('a storm of mismatches does not become a storm of lists', async () => {
  const stage = stageOf({ servers: modern() });
  for (let i = 0; i < 20; i++) await stage.ask('tools/call', call('{"region":"eu"}'));
  assert.ok(stage.sentOf('tools/list').length <= 2);
});

test('it never fails open: no list, no call', async () => {
  const before = (r: { method: string }) => (r.method === 'tools/list' ? fault('timeout') : undefined);
  const stage = stageOf({ servers: modern({ before }) });
  assert.equal(refusalOf(await stage.ask('tools/call', call('{"region":"eu"}'))).reason, 'timeout');
  assert.equal(stage.sentOf('tools/call').length, 0);
});

test('a tool with invalid annotations is left out of the list, said in the log, and cannot be called', async () => {
  const stage = stageOf({ servers: modern() });
  assert.deepEqual(names(await stage.ask('tools/list')), ['q', 'free']);
  assert.equal(stage.warnings.length, 1);
  assert.match(String(stage.warnings[0]!.fields.reason), /^tools "broken": x-mcp-header on a/);
  const refusal = refusalOf(await stage.ask('tools/call', '{"name":"broken"}'));
  assert.deepEqual(refusal, { reason: 'unknown-name', message: 'Unknown tool: broken' });
});

test('a tool that its server does not list is the server’s to refuse', async () => {
  const stage = stageOf({
    servers: modern({ call: () => fault('upstream', { code: -32602, message: 'no such tool' }) }),
  });
  const refusal = refusalOf(await stage.ask('tools/call', '{"name":"unlisted"}'));
  assert.deepEqual(refusal, {
    reason: 'upstream',
    code: -32602,
    message: 'no such tool',
  });
});

test('a legacy server and a legacy caller need no check and no list', async () => {
  const legacyServer = stageOf({ servers: { s: { era: 'legacy', tools: [annotated] } } });
  assert.equal((await legacyServer.ask('tools/call', call('{"region":"eu"}'))).kind, 'result');
  assert.equal(legacyServer.sentOf('tools/list').length, 0);
  const legacyCaller = stageOf({ servers: modern() });
  assert.equal((await legacyCaller.ask('tools/call', call('{"region":"eu"}'), { era: 'legacy' })).kind, 'result');
  assert.equal(legacyCaller.sentOf('tools/list').length, 0);
});

test('a list that is stale at once still serves the check for a few seconds', async () => {
  const stage = stageOf({ servers: modern({ ttlMs: 0 }) });
  const paramHeaders = { region: 'eu' };
  for (let i = 0; i < 10; i++) await stage.ask('tools/call', call('{"region":"eu"}'), { paramHeaders });
  assert.equal(stage.sentOf('tools/list').length, 1);
  stage.clock.advance(5000);
  await stage.ask('tools/call', call('{"region":"eu"}'), { paramHeaders });
  assert.equal(stage.sentOf('tools/list').length, 2);
});
