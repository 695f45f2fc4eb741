// Which era and transport has a server by URL, what is evidence for it, and what heals a wrong verdict (protocol.md §4.2)?

import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { systemClock } from '@lockkeeper/state/clock';
import { keyOf } from '@lockkeeper/state/store';
import { eventually } from '../../../../test/harness/eventually.ts';
import type { Kind } from '../../../../test/servers/http/raw-plain.ts';
import { type Act, kindOf, type RawUpstream, startRawUpstream } from '../../../../test/servers/http/raw-upstream.ts';
import type { ConnectorDeps } from '../../src/raise/connector.ts';
import { StartError } from '../../src/raise/contract.ts';
import { createRemote } from '../../src/remote/remote.ts';
import { clockAt, connectorOf, memoryStore, NEVER, notedLog } from '../raise/fake.ts';
import { remoteSpec } from './fetch/stage.ts';

const endings: (() => Promise<void>)[] = [];
const endAll = async () => {
  for (const end of endings.splice(0).reverse()) await end();
};
afterEach(endAll);
after(endAll);

async function serve(kind: Kind): Promise<RawUpstream> {
  const server = await startRawUpstream({ kind });
  endings.push(() => server.close());
  return server;
}

/** A node: its connector, over real doors. */
function node(more: Partial<ConnectorDeps> = {}) {
  const { clock = systemClock } = more;
  let token = 0;
  const connector = connectorOf({
    spawn: () => assert.fail('nothing is started'),
    remote: (...args) => remote.spawn(...args),
    clock,
    ...more,
  });
  const remote = createRemote({
    ...{ clock, log: notedLog(), version: 'test', beforeWrite: () => {} },
    token: () => `session-${token++}`,
    rates: () => ({ linesPerSecond: 50_000, bytesPerSecond: 1e9 }),
    maxLineBytes: () => 1_000_000,
    connector: () => connector,
  });
  endings.push(() => remote.close());
  endings.push(() => connector.close());
  return {
    connector,
    async era(spec: ServerSpec): Promise<string> {
      const connection = await connector.connect(spec, {}, NEVER);
      await connection.stop('test');
      return [connection.profile.era, connection.profile.transport ?? ''].join(' ').trim();
    },
  };
}

const specFor = (server: RawUpstream, more: Partial<ServerSpec> = {}): ServerSpec => ({
  ...remoteSpec(server.url),
  ...more,
});
const saw = (server: RawUpstream) => server.seen.map(kindOf).filter((kind) => kind !== 'DELETE');
const saying =
  (status: number, body = '', headers: Record<string, string> = {}): Act =>
  (reply) =>
    reply.body(status, headers, body);
const answering =
  (error: unknown, status = 200): Act =>
  (reply, { message }) =>
    reply.json({ jsonrpc: '2.0', id: message?.id, error }, status);
const failsWith = (words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StartError, String(error));
  assert.match(error.words, words);
  return true;
};

const KINDS: readonly [Kind, string, readonly string[]][] = [
  ['modern', 'modern', ['server/discover']],
  ['dual', 'modern', ['server/discover']],
  ['legacy', 'legacy streamable', ['server/discover', 'initialize']],
  ['stateless', 'legacy streamable', ['server/discover', 'initialize']],
  ['sse', 'legacy sse', ['server/discover', 'initialize', 'GET', 'initialize']],
];

for (const [kind, era, messages] of KINDS) {
  test(`a ${kind} server is found to be ${era}, in as few steps as that takes`, async () => {
    const server = await serve(kind);
    assert.equal(await node().era(specFor(server)), era);
    assert.deepEqual(saw(server).slice(0, messages.length), messages);
  });
}

const OLDER: readonly [string, Act][] = [
  ...[400, 404, 405, 406, 410, 415, 422].map((status): [string, Act] => [`HTTP ${status}`, saying(status, 'no')]),
  ['HTTP 400 with -32601', answering({ code: -32601, message: 'no' }, 400)],
  ['-32600', answering({ code: -32600, message: 'no' })],
  ['HTTP 400 with -32000 and no id', saying(400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"x"}}')],
  ['HTTP 202 and nothing', saying(202)],
  ['a page', saying(200, '<html>', { 'content-type': 'text/html' })],
];

for (const [what, act] of OLDER) {
  test(`${what} to server/discover speaks for an older server, which initialize confirms`, async () => {
    const server = await serve('legacy');
    server.when('server/discover', act);
    assert.equal(await node().era(specFor(server)), 'legacy streamable');
  });
}

const MODERN: readonly [string, Act][] = [
  ['-32022 with a list', answering({ code: -32022, message: 'x', data: { supported: ['2026-07-28'] } }, 400)],
  ['-32020', answering({ code: -32020, message: 'x' }, 400)],
  ['-32021', answering({ code: -32021, message: 'x' }, 400)],
];

for (const [what, act] of MODERN) {
  test(`HTTP 400 with ${what} speaks for a modern server, and it is never initialised`, async () => {
    const server = await serve('modern');
    server.when('server/discover', act);
    assert.equal(await node().era(specFor(server)), 'modern');
    assert.deepEqual(server.of('initialize'), []);
  });
}

const NOTHING: readonly [string, Act, RegExp][] = [
  ['HTTP 401', saying(401, '', { 'www-authenticate': 'Bearer resource_metadata="https://evil.example"' }), /HTTP 401/],
  ['HTTP 403', saying(403), /HTTP 403/],
  ['HTTP 429', saying(429), /HTTP 429/],
  ...[500, 502, 503, 504].map((s): [string, Act, RegExp] => [`HTTP ${s}`, saying(s), new RegExp(`HTTP ${s}`)]),
  ['a redirect elsewhere', saying(307, '', { location: 'https://elsewhere.example/mcp' }), /another origin/],
  ['a reset', (reply) => reply.reset(), /closed the connection/],
];

for (const [what, act, words] of NOTHING) {
  test(`${what} is no evidence: nothing else is tried, nothing is remembered, and its end is noticed`, async () => {
    const server = await serve('modern');
    const [store, spec] = [memoryStore(), specFor(server)];
    const { connector, era } = node({ store });
    server.when('server/discover', act);
    await assert.rejects(connector.connect(spec, {}, NEVER), failsWith(words));
    assert.deepEqual(new Set(saw(server)), new Set(['server/discover']));
    assert.equal(await store.get(keyOf('acme', 'era', spec.digest)), null);
    server.behave();
    assert.equal(await eventually(() => era(spec)), 'modern');
  });
}

test('refused credentials are the operator’s to mend, and what the server says of signing in is not passed on', async () => {
  const server = await serve('modern');
  server.when('server/discover', saying(401, 'secret page', { 'www-authenticate': 'Bearer realm="evil.example"' }));
  await assert.rejects(node().connector.connect(specFor(server), {}, NEVER), (error: StartError) => {
    assert.match(error.words, /credential|headers|operator/i);
    assert.doesNotMatch(error.words, /evil|secret page|Bearer/);
    return true;
  });
});

test('silence is no verdict; an answered initialize is one for a short while', async () => {
  const server = await serve('legacy');
  server.when('server/discover', () => {});
  const store = memoryStore();
  const time = clockAt(1_000_000);
  const { era, connector } = node({ store, clock: time.clock, timings: { probeMs: 50, weakReprobeMs: 3_600_000 } });
  const spec = specFor(server, { startTimeoutMs: 400 });
  assert.equal(await era(spec), 'legacy streamable');
  assert.match(connector.known(spec)?.evidence ?? '', /no answer to server\/discover \(weak\)/);
  // An hour later it is asked again, behind a caller's back.
  time.now += 3_600_001;
  server.when('server/discover', answering({ code: -32020, message: 'x' }, 400));
  assert.equal(await era(spec), 'legacy streamable');
  await eventually(() => connector.known(spec)?.era === 'modern');
});

test('silence to everything is remembered nowhere', async () => {
  const server = await serve('legacy');
  for (const kind of ['server/discover', 'initialize']) server.when(kind, () => {});
  const store = memoryStore();
  const spec = specFor(server, { startTimeoutMs: 150 });
  const { connector } = node({ store, timings: { probeMs: 50 } });
  await assert.rejects(connector.connect(spec, {}, NEVER), failsWith(/did not answer initialize within 150 ms/));
  assert.equal(await store.get(keyOf('acme', 'era', spec.digest)), null);
});

test('a modern server that is slow and refuses initialize is given its whole time', async () => {
  const server = await serve('modern');
  server.when('server/discover', () => {}, 1);
  const { era } = node({ timings: { probeMs: 50 } });
  assert.equal(await era(specFor(server, { startTimeoutMs: 3_000 })), 'modern');
});

test('what speaks no MCP at all is told by what each step met', async () => {
  const server = await serve('modern');
  for (const kind of ['server/discover', 'initialize', 'GET']) server.when(kind, saying(404, 'no such page'));
  const words = /no MCP server of any era: HTTP 404 to server\/discover; .*HTTP 404.*; as HTTP\+SSE: .*HTTP 404/;
  await assert.rejects(node().connector.connect(specFor(server), {}, NEVER), failsWith(words));
});

test('nodes share a verdict', async () => {
  const server = await serve('sse');
  const store = memoryStore();
  const spec = specFor(server);
  assert.equal(await node({ store }).era(spec), 'legacy sse');
  const before = server.of('server/discover').length;
  assert.equal(await node({ store }).era(spec), 'legacy sse');
  assert.equal(server.of('server/discover').length, before);
});

test('a server that has become another is found again at the next start, in both directions', async () => {
  const server = await serve('dual');
  const spec = specFor(server);
  const { era } = node();
  assert.equal(await era(spec), 'modern');
  const older = await startRawUpstream({ kind: 'sse', port: 0 });
  endings.push(() => older.close());
  // The same URL, other software.
  server.when('server/discover', saying(404));
  server.when('initialize', (reply, { message }) => {
    const result = { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'x', version: '1' } };
    reply.json({ jsonrpc: '2.0', id: message?.id, result });
  });
  assert.equal(await era(spec), 'legacy streamable');
  server.behave();
  server.when('initialize', saying(400, '{}'));
  assert.equal(await era(spec), 'modern');
});

test('a stream of 2024-11-05 that is there no more is followed by the younger transport', async () => {
  const server = await serve('legacy');
  const spec = specFor(server);
  const store = memoryStore();
  const old = { era: 'legacy', revision: '2024-11-05', transport: 'sse', supported: ['2024-11-05'], capabilities: {} };
  const verdict = JSON.stringify({ ...old, foundAt: Date.now(), evidence: 'before' });
  await store.set(keyOf('acme', 'era', spec.digest), verdict, 60_000);
  assert.equal(await node({ store }).era(spec), 'legacy streamable');
});

test('what the operator says of era and transport is not asked again', async () => {
  const server = await serve('sse');
  const told = remoteSpec(server.url, { transport: 'sse' });
  assert.equal(await node().era(told), 'legacy sse');
  assert.equal(saw(server)[0], 'GET');
  const streamable = { ...remoteSpec(server.url, { transport: 'streamable' }), era: 'legacy' as const };
  await assert.rejects(
    node().connector.connect(streamable, {}, NEVER),
    failsWith(/HTTP 40[45].*\(its era is configured as legacy\)/),
  );
  const modern = { ...remoteSpec(server.url), era: 'modern' as const };
  await assert.rejects(node().connector.connect(modern, {}, NEVER), failsWith(/its era is configured as modern/));
  assert.equal(await node().era({ ...remoteSpec(server.url), era: 'legacy' as const, digest: 'l' }), 'legacy sse');
});
