// The admin port and the numbers (design §9): three questions, and labels that no stranger can multiply.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createAdminServer } from '@lockkeeper/state/operator/admin';
import { type Rig, send, sendModern, startRig } from '../http/rig.ts';

let rig: Rig;
let adminPort: number;
const state = { why: [] as string[], started: true };
let admin: ReturnType<typeof createAdminServer>;

before(async () => {
  rig = await startRig();
  admin = createAdminServer({
    registry: rig.metrics.registry,
    notReady: () => state.why,
    started: () => state.started,
    token: () => undefined,
  });
  adminPort = await admin.listen('127.0.0.1', 0);
});
after(async () => {
  await admin.close();
  await rig.close();
});

const ask = async (path: string) => send(adminPort, `GET ${path}`, []);

test('liveness, readiness and startup are three answers', async () => {
  state.why = ['no pool manager is known'];
  state.started = false;
  const [live, ready, start] = [await ask('/livez'), await ask('/readyz'), await ask('/startupz')];
  assert.deepEqual([live.status, ready.status, start.status], [200, 503, 503]);
  assert.ok(ready.body.includes('no pool manager is known'));
  state.why = [];
  state.started = true;
  assert.deepEqual([(await ask('/readyz')).status, (await ask('/startupz')).status], [200, 200]);
});

test('health is not on the public port, and MCP is not on this one', async () => {
  assert.equal((await send(rig.port, 'GET /livez', [])).status, 404);
  assert.equal(
    (await send(adminPort, 'POST /acme/everything/mcp', ['Content-Type: application/json'], '{}')).status,
    404,
  );
});

test('the numbers tell of exchanges and refusals without names of strangers', async () => {
  await sendModern(rig.port, {
    method: 'tools/call',
    params: { name: 'my-secret-tool' },
    headers: { 'Mcp-Name': 'my-secret-tool' },
  });
  for (let i = 0; i < 50; i++) await sendModern(rig.port, { method: `made/up-${i}` });
  await send(rig.port, 'BREW /x', []).catch(() => undefined);
  const { body } = await ask('/metrics');
  assert.ok(
    body.includes('lockkeeper_exchange_ended_total{tenant="acme",era="modern",method="tools/call",outcome="ok"} 1'),
    body,
  );
  assert.ok(
    body.includes(
      'lockkeeper_exchange_ended_total{tenant="acme",era="modern",method="other",outcome="unknown-method"} 50',
    ),
  );
  assert.ok(body.includes('lockkeeper_exchange_open 0'));
  assert.ok(body.includes('lockkeeper_http_responses_total{verb="POST",status="404"} 50'));
  assert.ok(!/made|secret|anonymous/.test(body));
  for (const line of body.split('\n')) assert.match(line, /^(#|lockkeeper_|$)/);
});
