// Decisions, left-out servers and states that do not count, as metrics with bounded labels and lines an operator reads
// (design §9).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from '../../src/observe/metrics.ts';
import { createRouteObserver } from '../../src/observe/route-observer.ts';
import { type Rig, recordingLog } from '../http/rig.ts';
import { ALL, asking, FORM, retryOf, stateOf } from '../route/asking.ts';
import { allow, fault, stageOf } from '../route/stage.ts';

test('rules, left-out servers and refused states are counted; names and people are not', async () => {
  const metrics = createMetrics({ processMetrics: false });
  const logged: Rig['logged'] = [];
  const policy = [
    { name: 'devs', tenant: 'acme', groups: ['dev'], allow: [allow('s', { tools: ['t'] }), allow('gone')] },
  ];
  const stage = stageOf({
    servers: {
      s: { tools: ['{"name":"t"}', '{"name":"u"}'], call: asking(FORM, 'st') },
      gone: { before: () => fault('unavailable') },
    },
    policy,
    deps: { questions: true, observer: createRouteObserver(metrics, recordingLog(logged)) },
  });
  const who = { capabilities: ALL };
  const params = '{"name":"t"}';
  const state = stateOf(await stage.ask('tools/call', params, who));
  await stage.ask('tools/call', '{"name":"secret-name"}', who);
  await stage.ask('tools/list', '{}', { ...who, route: '/all' });
  await stage.ask('tools/call', retryOf(params, state), { ...who, subject: 'mallory' });
  await stage.ask('tools/call', retryOf('{"name":"t","x":1}', state), who);
  const text = await metrics.registry.metrics();
  const lines = [
    'lockkeeper_policy_decisions_total{tenant="acme",rule="devs",decision="allow"} 3',
    'lockkeeper_policy_decisions_total{tenant="acme",rule="default-deny",decision="deny"} 1',
    'lockkeeper_route_left_out_total{tenant="acme",server="gone",reason="unavailable"} 1',
    'lockkeeper_seal_states_refused_total{why="foreign"} 1',
    'lockkeeper_seal_states_refused_total{why="other"} 1',
  ];
  for (const line of lines) assert.ok(text.includes(line), `${line}\n${text}`);
  assert.doesNotMatch(text, /secret-name|mallory|alice/);
  const events = logged.map(({ event }) => event);
  assert.deepEqual(events, ['a server is left out', 'a requestState was tried by another person or program']);
  assert.doesNotMatch(JSON.stringify(logged), /mallory|lk1\./);
});
