// What reaches the middle of the walk (exchange.ts): the body's own bytes, the envelope's facts, and nothing of the
// headers but Mcp-Param-* and the trace.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Rig, sendModern, startRig } from './rig.ts';

let rig: Rig;
before(async () => {
  rig = await startRig();
});
after(() => rig.close());

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const OTHER = '00-11111111111111111111111111111111-2222222222222222-00';

test('GB-095: vendor keys pass, reserved keys, token and trace keys do not', async () => {
  await sendModern(rig.port, {
    meta: {
      'com.example/x': { y: 1 },
      plain: 'é',
      progressToken: 7,
      traceparent: PARENT,
      tracestate: 'a=b',
      baggage: 'k=v',
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
      'io.modelcontextprotocol/related-task': {},
      'lockkeeper/reason': 'forged',
      'lk/error': {},
    },
  });
  const { ask, exchange } = rig.seen.at(-1) ?? assert.fail();
  assert.equal(ask.meta, '"com.example/x":{"y":1},"plain":"é"');
  assert.equal(ask.progress, true);
  assert.deepEqual(exchange.trace, { traceparent: PARENT, tracestate: 'a=b', baggage: 'k=v' });
});

test('trace context of _meta wins over the headers as a whole', async () => {
  await sendModern(rig.port, { meta: { traceparent: PARENT }, headers: { traceparent: OTHER, tracestate: 'h=1' } });
  assert.deepEqual(rig.seen.at(-1)?.exchange.trace, { traceparent: PARENT });
  await sendModern(rig.port, { headers: { traceparent: OTHER, tracestate: 'h=1' } });
  assert.deepEqual(rig.seen.at(-1)?.exchange.trace, { traceparent: OTHER, tracestate: 'h=1' });
});

test('trace context that is not well formed goes no further', async () => {
  for (const bad of [
    '00-0-0-00',
    `ff${PARENT.slice(2)}`,
    PARENT.toUpperCase(),
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
  ]) {
    await sendModern(rig.port, { meta: { traceparent: bad, tracestate: 'a=b' } });
    assert.deepEqual(rig.seen.at(-1)?.exchange.trace, {});
  }
});

test('capabilities are those of this request, and the same object for the same text', async () => {
  const declare = (cc: object) => sendModern(rig.port, { meta: { 'io.modelcontextprotocol/clientCapabilities': cc } });
  await declare({ sampling: { tools: {} } });
  const first = rig.seen.at(-1)?.exchange.capabilities;
  await declare({ sampling: { tools: {} } });
  const second = rig.seen.at(-1)?.exchange.capabilities;
  await declare({});
  assert.deepEqual(first, { sampling: { tools: {} } });
  assert.equal(first, second);
  assert.ok(Object.isFrozen(first?.sampling));
  assert.deepEqual(rig.seen.at(-1)?.exchange.capabilities, {});
});

test('Mcp-Param-* arrive by lower-case name, a repeated one as a value that fits nothing', async () => {
  await sendModern(rig.port, {
    method: 'tools/call',
    params: { name: 'q' },
    headers: { 'Mcp-Name': 'q', 'Mcp-Param-Region': 'eu', 'MCP-PARAM-n': '1', 'mcp-param-N': '2' },
  });
  assert.deepEqual(
    [...(rig.seen.at(-1)?.ask.paramHeaders ?? [])],
    [
      ['region', 'eu'],
      ['n', '1, 2'],
    ],
  );
});

test('GB-053: headers decide nothing, the body does', async () => {
  await sendModern(rig.port, {
    method: 'tools/call',
    params: { name: 'forbidden' },
    headers: { 'Mcp-Name': 'forbidden', 'X-User': 'root', 'X-Forwarded-Host': 'evil', 'Mcp-Tenant': 'globex' },
  });
  const { ask, exchange } = rig.seen.at(-1) ?? assert.fail();
  assert.equal(ask.name, 'forbidden');
  assert.deepEqual(exchange.caller.principal, {
    tenant: 'acme',
    issuer: 'lockkeeper:open',
    subject: 'anonymous',
    client: 'anonymous',
  });
  assert.deepEqual(
    [exchange.era, exchange.revision, exchange.session, exchange.onVanish],
    ['modern', '2026-07-28', null, 'cancel'],
  );
});

test('one audit row per exchange, with ids and no content', async () => {
  rig.audit.length = 0;
  const secret = 'do-not-write-this';
  await sendModern(rig.port, {
    method: 'resources/read',
    params: { uri: `https://h.example/p?token=${secret}`, extra: secret },
    meta: { 'com.example/x': secret },
    headers: { 'Mcp-Name': `https://h.example/p?token=${secret}`, 'X-Api-Key': secret },
  });
  assert.equal(rig.audit.length, 1);
  const [row] = rig.audit;
  assert.ok(!JSON.stringify(row).includes(secret));
  const { xid, ms, bytesIn, bytesOut, ...rest } = row ?? assert.fail();
  assert.equal(xid, rig.seen.at(-1)?.exchange.xid);
  assert.ok(ms >= 0 && bytesIn > 0 && bytesOut > 0);
  assert.deepEqual(rest, {
    tenant: 'acme',
    route: '/acme/everything/mcp',
    issuer: 'lockkeeper:open',
    subject: 'anonymous',
    client: 'anonymous',
    era: 'modern',
    revision: '2026-07-28',
    method: 'resources/read',
    server: 'everything',
    name: 'https://h.example/p',
    rule: null,
    continues: null,
    outcome: 'ok',
    detail: null,
    status: 200,
  });
});
