import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { BusyError } from '../../src/pool/contract.ts';
import { ALICE, BOB, type FakeChild, legacyServer, modernServer, ok, type Script, type Sent } from '../raise/fake.ts';
import { stage } from './stage.ts';

const on = (method: string, answer: (m: Sent, child: FakeChild) => void): Script =>
  legacyServer((m, child) => {
    if (m.method !== method) return false;
    answer(m, child);
    return true;
  });
const echo = on('tools/call', (m, child) => ok(child, m, { got: m.params?.n }));
const silent = on('tools/call', () => {});

test('a call is claimed, leased, run, answered, and its lease given back', async () => {
  const settled: unknown[] = [];
  const s = stage({ scripts: [echo], deps: { onSettled: ({ ms: _ms, xid: _xid, ...f }) => void settled.push(f) } });
  const { ended } = s.open('tools/call', {}, '"n":1');
  const answer = await ended;
  assert.deepEqual([answer.started, answer.value], [true, { got: 1 }]);
  await eventually(() => s.leases.open === 0);
  assert.equal(s.dispatcher.size, 0);
  assert.deepEqual(settled, [{ tenant: 'acme', server: 'fake', method: 'tools/call', how: 'result' }]);
  await s.end();
});

test('the lease is asked for by owner and fingerprint; alone where one call must run at a time', async () => {
  const declared = { elicitation: { form: {} }, sampling: {} };
  const one = stage({ scripts: [echo] });
  await one.open('tools/call', { capabilities: declared }).ended;
  assert.deepEqual([one.requests[0]?.fingerprint, one.requests[0]?.alone], ['', false]);
  assert.equal(
    one.requests[0]?.key,
    '["[\\"acme\\",\\"fake\\",\\"d1\\",\\"user\\",\\"https://idp.example\\",\\"alice\\",\\"editor\\"]",""]',
  );
  await one.end();
  const two = stage({ scripts: [echo], asks: true });
  await two.open('tools/call', { capabilities: declared }).ended;
  assert.deepEqual([two.requests[0]?.fingerprint, two.requests[0]?.alone], ['sampling elicitation.form', true]);
  await two.end();
  const three = stage({ scripts: [echo], spec: { isolation: 'exclusive' } });
  await three.open('tools/call').ended;
  assert.equal(three.requests[0]?.alone, true);
  await three.end();
  const four = stage({ scripts: [modernServer()], spec: { era: 'modern' }, asks: true });
  await four.open('tools/list', { capabilities: declared }).ended;
  assert.deepEqual([four.requests[0]?.fingerprint, four.requests[0]?.alone], ['', false]);
  await four.end();
});

test('a digest this node does not have, or another tenant’s server, is stale before anything starts', async () => {
  const s = stage({ scripts: [echo] });
  for (const more of [{ digest: 'd2' }, { server: 'other' }, { principal: { ...ALICE, tenant: 'globex' } }]) {
    const { fault, started } = await s.open('tools/call', more).ended;
    assert.deepEqual([fault?.reason, fault?.mayHaveRun, started], ['stale-config', false, false]);
  }
  assert.equal(s.children.length, 0);
  await s.end();
});

test('a key that another node holds is moved there', async () => {
  const claim = async () => ({ kind: 'moved', node: 'node-2' }) as const;
  const s = stage({ scripts: [echo], deps: { ownership: { claim } } });
  const { fault } = await s.open('tools/call').ended;
  assert.deepEqual([fault?.reason, fault?.node], ['moved', 'node-2']);
  await s.end();
});

test('a store that cannot be reached stops sessions only', async () => {
  const claim = async () => ({ kind: 'unreachable' }) as const;
  const session = stage({ scripts: [echo], spec: { isolation: 'session' }, deps: { ownership: { claim } } });
  assert.equal((await session.open('tools/call').ended).fault?.reason, 'unavailable');
  await session.end();
  const user = stage({ scripts: [echo], deps: { ownership: { claim } } });
  assert.equal((await user.open('tools/call').ended).result?.resultType, 'complete');
  await user.end();
});

test('a server that cannot start says so to the caller, and its stderr to the operator alone', async () => {
  const s = stage({ scripts: [(_m, child) => child.exit('exited with code 3 before it answered')] });
  const { fault, started } = await s.open('tools/call').ended;
  assert.equal(started, false);
  assert.deepEqual(fault, {
    reason: 'start-failed',
    code: -32603,
    message: 'server "fake" could not be started: exited with code 3 before it answered',
    mayHaveRun: false,
  });
  const line = s.log.lines.find((l) => l.words === 'server could not be started');
  assert.equal(line?.fields.stderr, 'the tail of stderr');
  await s.end();
});

test('a start that takes too long is a failed start at the caller’s deadline, and its late lease is given back', async () => {
  const late: { child?: FakeChild; message?: Sent } = {};
  const slow = on('initialize', (message, child) => Object.assign(late, { message, child }));
  const s = stage({ scripts: [slow] });
  const { fault } = await s.open('tools/call', { deadlineMs: 60 }).ended;
  assert.equal(fault?.reason, 'start-failed');
  assert.match(fault.message, /not ready within/);
  assert.equal(s.leases.open, 0);
  await s.end();
});

test('a full pool is busy, with the time to come back', async () => {
  const lease = () => Promise.reject(new BusyError(750));
  const s = stage({ scripts: [echo], pools: () => ({ lease }) });
  const { fault } = await s.open('tools/call').ended;
  assert.deepEqual([fault?.reason, fault?.retryAfterMs, fault?.mayHaveRun], ['busy', 750, false]);
  await s.end();
});

test('whatever else goes wrong is internal, and nothing leaks', async () => {
  const lease = () => Promise.reject(new Error('secret detail'));
  const s = stage({ scripts: [echo], pools: () => ({ lease }) });
  const { fault } = await s.open('tools/call').ended;
  assert.deepEqual([fault?.reason, fault?.message], ['internal', 'internal error']);
  await s.end();
});

test('a call over its time is cancelled upstream and times out; the time-out is the call’s, not the start’s', async () => {
  const s = stage({ scripts: [silent], spec: { callTimeoutMs: 50 } });
  const { fault, started } = await s.open('tools/call').ended;
  assert.deepEqual([fault?.reason, fault?.mayHaveRun, started], ['timeout', true, true]);
  await eventually(() => s.children[0]?.methods().at(-1) === 'notifications/cancelled');
  await eventually(() => s.leases.open === 0);
  await s.end();
});

test('GB-041: a catalogue that hangs times out by itself; other calls of the same process go on', async () => {
  const hangs = modernServer((m, child) => {
    if (m.method === 'tools/call') ok(child, m, { content: [] });
    return m.method === 'tools/list' || m.method === 'tools/call';
  });
  const s = stage({ scripts: [hangs], spec: { era: 'modern', callTimeoutMs: 60 } });
  const list = s.open('tools/list');
  assert.equal((await s.open('tools/call').ended).result?.resultType, 'complete');
  assert.equal((await list.ended).fault?.reason, 'timeout');
  assert.equal((await s.open('tools/call').ended).result?.resultType, 'complete');
  assert.equal(s.children.length, 1);
  await s.end();
});

test('progress, relayed or not, gives a call its time anew, up to the maximum', async () => {
  const work = on('tools/call', (m, child) => {
    let n = 0;
    const timer = setInterval(() => {
      const params = { progressToken: m.params?._meta?.progressToken, progress: ++n };
      child.write({ jsonrpc: '2.0', method: 'notifications/progress', params });
      if (n < (m.params?.n as number)) return;
      clearInterval(timer);
      ok(child, m, { n });
    }, 20);
    timer.unref();
  });
  const s = stage({ scripts: [work], spec: { callTimeoutMs: 120 }, deps: { maxCallMs: 600 } });
  assert.deepEqual((await s.open('tools/call', { deadlineMs: 150 }, '"n":15').ended).value, { n: 15 });
  const endless = await s.open('tools/call', { deadlineMs: 150 }, '"n":1000').ended;
  assert.equal(endless.fault?.reason, 'timeout');
  await s.end();
});

test('a cancel by id from any gateway ends the caller’s own exchange, and nobody else’s (GB-087)', async () => {
  const attempts: unknown[] = [];
  const s = stage({ scripts: [silent], deps: { onForeignCancel: (a) => void attempts.push(a.principal.subject) } });
  const call = s.open('tools/call', { session: 's1' });
  await eventually(() => s.children[0]?.methods().includes('tools/call') ?? false);
  const { xid } = call.head;
  const base = { kind: 'cancel', xid, principal: ALICE, session: 's1' } as const;
  s.dispatcher.cancel({ ...base, principal: BOB });
  s.dispatcher.cancel({ ...base, principal: { ...ALICE, client: 'other' } });
  s.dispatcher.cancel({ ...base, session: 's2' });
  s.dispatcher.cancel({ ...base, session: null });
  s.dispatcher.cancel({ ...base, xid: 'unknown' });
  assert.equal(s.dispatcher.size, 1);
  assert.deepEqual(attempts, ['bob', 'alice', 'alice', 'alice']);
  assert.equal(s.log.lines.filter((l) => l.fields.audit === 'foreign-cancel').length, 4);
  s.dispatcher.cancel({ ...base, reason: 'user pressed stop' });
  assert.deepEqual((await call.ended).fault?.reason, 'cancelled');
  const told = s.children[0]?.received.find((m) => m.method === 'notifications/cancelled');
  assert.equal(told?.params?.reason, 'user pressed stop');
  await s.end();
});

test('a cancel that overtakes its open ends it before it starts, if it is the caller’s', async () => {
  const s = stage({ scripts: [echo] });
  s.dispatcher.cancel({ kind: 'cancel', xid: 'early', principal: ALICE, session: null });
  s.dispatcher.cancel({ kind: 'cancel', xid: 'foreign', principal: BOB, session: null });
  assert.equal((await s.open('tools/call', { xid: 'early' }).ended).fault?.reason, 'cancelled');
  assert.equal((await s.open('tools/call', { xid: 'foreign' }).ended).result?.resultType, 'complete');
  await s.end();
});

test('a client that leaves cancels, in the queue too; a caller to be kept is kept', async () => {
  const s = stage({ scripts: [silent] });
  const queued = s.open('tools/call');
  queued.stream.vanished('close');
  assert.deepEqual((await queued.ended).fault?.mayHaveRun, false);
  const running = s.open('tools/call');
  await eventually(() => s.children.at(-1)?.methods().includes('tools/call') ?? false);
  running.stream.vanished('break');
  assert.equal((await running.ended).fault?.reason, 'cancelled');
  await eventually(() => s.children.at(-1)?.methods().includes('notifications/cancelled') ?? false);
  const kept = s.open('tools/call', { onVanish: 'keep' });
  kept.stream.vanished('break');
  assert.equal(s.dispatcher.size, 1);
  s.dispatcher.close('drained');
  assert.equal(s.dispatcher.size, 0);
  await s.end();
});

test('a crash under a call is lost and never run again; under a safe method it is run once more', async () => {
  const crashing: Script = legacyServer((m, child) => {
    if (m.method !== 'tools/call' && m.method !== 'tools/list') return false;
    child.exit('killed by SIGSEGV', 'killed');
    return true;
  });
  const good = on('tools/list', (m, child) => ok(child, m, { tools: [] }));
  const call = stage({ scripts: [crashing, echo] });
  const lost = await call.open('tools/call').ended;
  assert.deepEqual([lost.fault?.reason, lost.fault?.mayHaveRun, call.children.length], ['lost', true, 1]);
  await call.end();
  const list = stage({ scripts: [crashing, good] });
  assert.deepEqual((await list.open('tools/list').ended).value?.tools, []);
  assert.equal(list.children.length, 2);
  await eventually(() => list.leases.open === 0);
  await list.end();
  const twice = stage({ scripts: [crashing] });
  assert.equal((await twice.open('tools/list').ended).fault?.reason, 'lost');
  assert.equal(twice.children.length, 2);
  await twice.end();
});

test('one exchange runs once: a second open of its id is refused', async () => {
  const s = stage({ scripts: [silent] });
  const first = s.open('tools/call', { xid: 'same' });
  const second = await s.open('tools/call', { xid: 'same' }).ended;
  assert.deepEqual([second.fault?.reason, second.fault?.mayHaveRun], ['refused', true]);
  assert.equal(s.dispatcher.size, 1);
  first.stream.vanished('close');
  await s.end();
});

test('the number of exchanges is bounded', async () => {
  const s = stage({ scripts: [silent], deps: { maxExchanges: 2 } });
  s.open('tools/call');
  s.open('tools/call');
  assert.equal((await s.open('tools/call').ended).fault?.reason, 'busy');
  await s.end();
});

test('a draining node takes nothing new and lets what runs end', async () => {
  const s = stage({ scripts: [echo] });
  const before = s.open('tools/call');
  s.dispatcher.drain();
  assert.equal((await s.open('tools/call').ended).fault?.reason, 'draining');
  assert.equal((await before.ended).result?.resultType, 'complete');
  await s.end();
});

test('over the cap, progress is coalesced and logs dropped; a client that stays slow is too slow', async () => {
  const talk = on('tools/call', (m, child) => {
    const progressToken = m.params?._meta?.progressToken;
    const progress = (n: number) =>
      child.write({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: n } });
    for (let n = 1; n <= 5; n++) progress(n);
    child.write({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'error', data: 1 } });
    if (m.params?.end === true) ok(child, m, {});
  });
  const deps = { maxQueuedBytes: 100, slowMs: 1_000 };
  const s = stage({ scripts: [talk], deps });
  const call = s.open('tools/call', { progress: true, logLevel: 'info' }, '"end":true');
  call.queued = 100;
  assert.deepEqual(
    (await call.ended).events.map((e) => e.members.progress),
    [5],
  );
  await s.end();
  const t = stage({ scripts: [talk], deps: { ...deps, slowMs: 0 } });
  const slow = t.open('tools/call', { progress: true });
  slow.queued = 100;
  assert.equal((await slow.ended).fault?.reason, 'too-slow');
  await eventually(() => t.children[0]?.methods().at(-1) === 'notifications/cancelled');
  await t.end();
});

test('GB-088: answers and cancels that race leave nothing behind', async () => {
  const racing = on('tools/call', (m, child) => {
    if (Math.random() < 0.5) setImmediate(() => ok(child, m, { n: m.params?.n }));
    else ok(child, m, { n: m.params?.n });
  });
  const s = stage({ scripts: [racing] });
  const all = Array.from({ length: 1_000 }, async (_, n) => {
    const call = s.open('tools/call', {}, `"n":${n}`);
    if (n % 3 === 0) call.stream.vanished('close');
    else if (n % 3 === 1) setImmediate(() => call.stream.vanished('close'));
    const { fault, value } = await call.ended;
    assert.ok(fault?.reason === 'cancelled' || value?.n === n, `call ${n}`);
  });
  await Promise.all(all);
  await eventually(() => s.leases.open === 0);
  assert.equal(s.dispatcher.size, 0);
  assert.deepEqual((await s.open('tools/call', {}, '"n":"last"').ended).value, { n: 'last' });
  await s.end();
});

test('listens have their place and are refused until it is filled', async () => {
  const s = stage({ scripts: [echo] });
  const head = { ...s.open('tools/call').head, kind: 'listen' as const };
  const filter = { tools: true, prompts: false, resources: false, uris: [], taskIds: [] };
  const reasons: unknown[] = [];
  const reply = {
    started: () => {},
    accepted: () => {},
    event: () => {},
    result: () => {},
    fault: (f: { reason: string }) => void reasons.push(f.reason),
    queuedBytes: () => 0,
  };
  s.dispatcher.listen({ ...head, filter }, reply);
  assert.deepEqual(reasons, ['refused']);
  await s.end();
});
