// The real child under the real connector: servers of one habit each, the published example server, and one made with
// the published SDK that speaks both eras.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import { systemClock } from '@lockkeeper/state/clock';
import { eventually } from '../../../../test/harness/eventually.ts';
import { hostOf } from '../../src/child/host.ts';
import { createSpawn } from '../../src/child/spawn.ts';
import type { Connection, Connector } from '../../src/raise/contract.ts';
import { StartError } from '../../src/raise/contract.ts';
import { bytes, collect, connectorOf, type Ended, memoryStore, NEVER, notedLog, openOf, specOf } from './fake.ts';

const SERVERS = new URL('../../../../test/servers/', import.meta.url).pathname;
const EVERYTHING = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');

let tokens = 0;
const spawn = createSpawn({
  clock: systemClock,
  log: notedLog(),
  host: { ...hostOf(process.env), tmpDir: tmpdir() },
  token: () => `raise${tokens++}`,
  maxLineBytes: () => 4 * 1024 * 1024,
  patience: { closeMs: 500, termMs: 500 },
});

const connectors: Connector[] = [];
const connections: Connection[] = [];
after(async () => {
  await Promise.all(connections.map((c) => c.stop('test')));
  await Promise.all(connectors.map((c) => c.close()));
});

function server(file: string, env: Record<string, string> = {}, more: Partial<ServerSpec> = {}): ServerSpec {
  const args = file.includes('/') ? [file] : [`${SERVERS}${file}.mjs`];
  return specOf({
    stdio: { command: process.execPath, args, env, cwd: SERVERS },
    startTimeoutMs: 10_000,
    digest: `${file} ${JSON.stringify(env)}`,
    ...more,
  });
}

async function connect(spec: ServerSpec, store = memoryStore()): Promise<Connection> {
  const connector = connectorOf({ spawn, store, timings: { probeMs: 2_000, spareMs: 2_000 } });
  connectors.push(connector);
  const connection = await connector.connect(spec, {}, NEVER);
  connections.push(connection);
  return connection;
}

function call(connection: Connection, method: string, params = '', head: Partial<Open> = {}): Promise<Ended> {
  const { reply, ended } = collect();
  connection.call(openOf(method, head), bytes(params), reply);
  return ended;
}

const tool = (connection: Connection, name: string, args = {}, head: Partial<Open> = {}) =>
  call(connection, 'tools/call', `"name":${JSON.stringify(name)},"arguments":${JSON.stringify(args)}`, head);
const textOf = (ended: Ended) => (ended.value?.content as { text: string }[] | undefined)?.[0]?.text;

for (const [file, era] of [
  ['echo-legacy', 'legacy'],
  ['echo-modern', 'modern'],
  ['dual-era', 'modern'],
  ['exits-on-probe', 'legacy'],
  ['writes-garbage', 'legacy'],
  ['splits-utf8', 'legacy'],
] as const) {
  test(`${file} is found ${era} and echoes`, async () => {
    const connection = await connect(server(file));
    assert.equal(connection.profile.era, era);
    assert.equal(textOf(await tool(connection, 'echo', { text: 'héllo 🙂' })), 'héllo 🙂');
    await connection.stop('done');
  });
}

test('GB-028, GB-018: a server that crashes at the start says why, with its stderr for the operator', async () => {
  await assert.rejects(connect(server('crashes-on-start', { EXIT_CODE: '7' })), (error: unknown) => {
    assert.ok(error instanceof StartError);
    assert.match(error.words, /7/);
    assert.notEqual(error.stderrTail, '');
    return true;
  });
});

for (const mode of ['version', 'missing', 'shape', 'error', 'capabilities']) {
  test(`invalid-initialize MODE=${mode} is a failed start`, async () => {
    await assert.rejects(connect(server('invalid-initialize', { MODE: mode })), StartError);
  });
}

test('GB-082: answers-twice: nobody gets a wrong answer, and nobody waits for his deadline', async () => {
  const connection = await connect(server('answers-twice'));
  for (const name of ['string', 'null', 'zero']) {
    assert.equal((await tool(connection, name)).fault?.reason, 'protocol', name);
  }
  assert.equal(textOf(await tool(connection, 'unknown')), 'first');
  assert.equal(textOf(await tool(connection, 'twice')), 'first');
  assert.equal(textOf(await tool(connection, 'echo', { text: 'fine' })), 'fine');
  await connection.stop('done');
});

test('GB-057: bad-result-type: only what is complete comes through; a wire request is not answered', async () => {
  const connection = await connect(server('bad-result-type'));
  for (const name of ['unknown', 'task', 'empty']) {
    assert.equal((await tool(connection, name)).fault?.reason, 'protocol', name);
  }
  assert.equal((await tool(connection, 'absent')).result?.resultType, 'complete');
  assert.equal(textOf(await tool(connection, 'asks')), 'asked');
  await connection.stop('done');
});

for (const [cursor, count] of [
  [undefined, 3],
  ['stuck', null],
  ['endless', null],
] as const) {
  test(`GB-129, GB-130: paginated with cursors that are ${cursor ?? 'right'} ends, each tool once`, async () => {
    const connection = await connect(server('paginated', cursor === undefined ? {} : { CURSOR: cursor }));
    const { value } = await call(connection, 'tools/list');
    const names = (value!.tools as { name: string }[]).map((t) => t.name);
    assert.equal(new Set(names).size, names.length);
    if (count !== null) assert.equal(names.length, count);
    await connection.stop('done');
  });
}

test('never-answers: a cancel reaches the server under our id, and its late answer goes nowhere', async () => {
  const connection = await connect(server('never-answers'));
  const { reply, ended } = collect();
  const waiting = connection.call(openOf('tools/call'), bytes('"name":"wait","arguments":{}'), reply);
  waiting.cancel('no longer wanted');
  assert.equal((await ended).fault?.reason, 'cancelled');
  assert.equal(connection.tainted, true);
  const seen = await eventually(async () => {
    const text = textOf(await tool(connection, 'cancelled'));
    return text !== undefined && text.length > 2 ? text : false;
  });
  assert.match(String(seen), /\d/);
  await connection.stop('done');
});

test('progress-and-logs: progress only where asked for, logs by level', async () => {
  const connection = await connect(server('progress-and-logs'));
  const asked = await tool(connection, 'work', { steps: 3, everyMs: 1 }, { progress: true, logLevel: 'debug' });
  const progress = asked.events.filter((e) => e.method === 'notifications/progress').map((e) => e.members.progress);
  assert.equal(progress.length, 3);
  assert.ok(asked.events.some((e) => e.method === 'notifications/message'));
  assert.deepEqual((await tool(connection, 'work', { steps: 3, everyMs: 1 })).events, []);
  assert.deepEqual((await tool(connection, 'unasked')).events, []);
  const backwards = await tool(connection, 'backwards', {}, { progress: true });
  const values = backwards.events.map((e) => e.members.progress as number);
  assert.deepEqual(
    values,
    [...new Set(values)].sort((a, b) => a - b),
  );
  await connection.stop('done');
});

test('crashes-mid-call: the call is lost, and may have run', async () => {
  const connection = await connect(server('crashes-mid-call'));
  const { fault } = await tool(connection, 'crash');
  assert.deepEqual([fault?.reason, fault?.mayHaveRun], ['lost', true]);
  await connection.stop('done');
});

test('GB-032: endless-line: the answer over the cap fails its call; the process goes on', async () => {
  const connection = await connect(server('endless-line'));
  assert.equal((await tool(connection, 'endless', { bytes: 6_000_000 })).fault?.reason, 'too-large');
  assert.equal(textOf(await tool(connection, 'echo', { text: 'still here' })), 'still here');
  await connection.stop('done');
});

test('the published example server: initialised, listed whole, called, read, prompted, completed, with progress', async () => {
  const connection = await connect(server(EVERYTHING));
  assert.equal(connection.profile.era, 'legacy');
  const tools = await call(connection, 'tools/list');
  const names = (tools.value!.tools as { name: string; execution?: unknown }[]).map((t) => t.name);
  assert.ok(names.includes('echo') && names.length > 5);
  assert.ok((tools.value!.tools as { execution?: unknown }[]).every((t) => t.execution === undefined));
  assert.equal(textOf(await tool(connection, 'echo', { message: 'hi' })), 'Echo: hi');
  const resources = await call(connection, 'resources/list');
  const { uri } = (resources.value!.resources as { uri: string }[])[0]!;
  const read = await call(connection, 'resources/read', `"uri":${JSON.stringify(uri)}`, { name: uri });
  assert.equal(read.value?.cacheScope, 'private');
  const prompts = await call(connection, 'prompts/list');
  assert.ok((prompts.value!.prompts as unknown[]).length > 0);
  const long = await tool(
    connection,
    'trigger-long-running-operation',
    { duration: 0.2, steps: 2 },
    { progress: true },
  );
  assert.equal(long.events.filter((e) => e.method === 'notifications/progress').length, 2);
  assert.match(textOf(await tool(connection, 'nothing-like-it')) ?? '', /not found/);
  await connection.stop('done');
});

test('the published SDK’s server in both eras is found modern, and legacy where the operator says so', async () => {
  const file = new URL('./sdk-server.ts', import.meta.url).pathname;
  const modern = await connect(server(file));
  assert.equal(modern.profile.era, 'modern');
  const { value } = await call(modern, 'server/discover');
  assert.equal(value?.['lk/era'], 'modern');
  assert.ok('tools' in (value!.capabilities as object));
  assert.equal(textOf(await tool(modern, 'greet', { who: 'Ada' })), 'Hello, Ada');
  const listed = await call(modern, 'tools/list');
  assert.deepEqual(
    (listed.value!.tools as { name: string }[]).map((t) => t.name),
    ['greet'],
  );
  assert.equal(typeof listed.value?.ttlMs, 'number');
  await modern.stop('done');
  const legacy = await connect(server(file, {}, { era: 'legacy' }));
  assert.equal(legacy.profile.era, 'legacy');
  assert.equal(textOf(await tool(legacy, 'greet', { who: 'Ada' })), 'Hello, Ada');
  await legacy.stop('done');
});
