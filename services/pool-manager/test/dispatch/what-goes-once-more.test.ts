// design.md §2: what has no side effects, or surely did not reach its server, goes once more; nothing else does.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Lease, Pools } from '../../src/pool/contract.ts';
import type { FaultHead, UpstreamReply } from '../../src/raise/contract.ts';
import { type FakeChild, legacyServer, ok, type Script, type Sent } from '../raise/fake.ts';
import { stage } from './stage.ts';

const on = (methods: readonly string[], answer: (m: Sent, child: FakeChild) => void): Script =>
  legacyServer((m, child) => {
    if (!methods.includes(m.method ?? '')) return false;
    answer(m, child);
    return true;
  });

const SAFE = [
  ...['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'],
  ...['resources/read', 'prompts/get', 'completion/complete'],
];

const LOST: FaultHead = { reason: 'lost', code: -32603, message: 'its session is gone', mayHaveRun: false };

/** The first `times` calls end as `fault` at their server, on a connection that lives on. */
function losing(times: number, fault: FaultHead) {
  const seen = { calls: 0 };
  const pools = (real: Pools): Partial<Pools> => ({
    async lease(request) {
      const lease = await real.lease(request);
      const { connection } = lease;
      const call: typeof connection.call = (head, body, reply: UpstreamReply) => {
        seen.calls++;
        if (seen.calls > times) return connection.call(head, body, reply);
        reply.started();
        reply.fault(fault);
        return { cancel: () => {} };
      };
      // Over the prototype: its getters must go on working.
      const losing = Object.create(connection, { call: { value: call } }) as Lease['connection'];
      return { ...lease, connection: losing };
    },
  });
  return { seen, pools };
}

const echo = on(['tools/call'], (m, child) => ok(child, m, { got: m.params?.n }));

test('every method without side effects is answered though its process died under it', async () => {
  for (const method of SAFE) {
    const crashing = on([method], (_m, child) => child.exit('killed by SIGSEGV', 'killed'));
    const result = {
      tools: [],
      prompts: [],
      resources: [],
      resourceTemplates: [],
      contents: [{ uri: 'x:1', text: 't' }],
      messages: [],
    };
    const good = on([method], (m, child) => ok(child, m, { ...result, completion: { values: [] } }));
    const s = stage({ scripts: [crashing, good] });
    assert.equal((await s.open(method).ended).fault, undefined, method);
    assert.equal(s.children.length, 2, method);
    await s.end();
  }
});

test('a call that surely did not reach its server goes once more, and only once', async () => {
  const once = losing(1, LOST);
  const s = stage({ scripts: [echo], pools: once.pools });
  assert.equal((await s.open('tools/call', {}, '"n":7').ended).value?.got, 7);
  assert.deepEqual([once.seen.calls, s.leases.open], [2, 0]);
  await s.end();
  const twice = losing(2, LOST);
  const other = stage({ scripts: [echo], pools: twice.pools });
  const { fault } = await other.open('tools/call', {}, '"n":7').ended;
  assert.deepEqual([fault?.reason, fault?.mayHaveRun, twice.seen.calls], ['lost', false, 2]);
  await other.end();
});

test('a call that may have run does not, nor one that ended in another way', async () => {
  for (const fault of [
    { ...LOST, mayHaveRun: true },
    { ...LOST, reason: 'protocol' as const },
    { ...LOST, reason: 'upstream' as const },
  ]) {
    const once = losing(1, fault);
    const s = stage({ scripts: [echo], pools: once.pools });
    const ended = await s.open('tools/call', {}, '"n":7').ended;
    assert.deepEqual([ended.fault?.reason, once.seen.calls], [fault.reason, 1]);
    await s.end();
  }
});

test('whose caller has heard of it already is not begun anew', async () => {
  const telling = on(['resources/read'], (m, child) => {
    const progressToken = m.params?._meta?.progressToken;
    child.write({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } });
    child.exit('killed by SIGSEGV', 'killed');
  });
  const s = stage({ scripts: [telling] });
  const { fault, events } = await s.open('resources/read', { progress: true }, '"uri":"x:1"').ended;
  assert.deepEqual([fault?.reason, fault?.mayHaveRun, events.length, s.children.length], ['lost', true, 1, 1]);
  await s.end();
});

test('at the end of a drain the others may do what has not begun or has no side effects; the rest is lost', async () => {
  const silent = on(['tools/call', 'tools/list'], () => {});
  const s = stage({ scripts: [silent] });
  const opened = [s.open('tools/list'), s.open('tools/call')];
  while ((s.children[0]?.methods() ?? []).filter((m) => m.startsWith('tools/')).length < 2)
    await new Promise(setImmediate);
  s.dispatcher.close('drained', true);
  const faults = await Promise.all(opened.map(async (one) => (await one.ended).fault));
  assert.deepEqual(
    faults.map((fault) => [fault?.reason, fault?.mayHaveRun]),
    [
      ['draining', true],
      ['lost', true],
    ],
  );
  await s.end();
});
