// How is a 2025-11-25 server's task waited for, so that everyone else sees a call that takes long? Scripted servers, each
// with one way of its own.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { TaskedUpstream } from '../../src/link/contract.ts';
import type { Connection } from '../../src/raise/contract.ts';
import {
  bytes,
  collect,
  connectorOf,
  type Ended,
  type FakeChild,
  fail,
  legacyServer,
  NEVER,
  notedLog,
  ok,
  openOf,
  type Sent,
  spawner,
  specOf,
} from '../raise/fake.ts';

type More = (message: Sent, child: FakeChild) => boolean;

const CAPABILITIES = { tools: { listChanged: true }, tasks: { requests: { tools: { call: {} } }, cancel: {} } };
const TOOLS = [
  { name: 'must', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } },
  { name: 'can', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } },
  { name: 'never', inputSchema: { type: 'object' } },
];
const OFFER = { id: 'h', promoteAfterMs: null, ttlMs: 60_000 };
const task = (status: string) => ({
  taskId: 't1',
  status,
  ttl: 9_000,
  pollInterval: 250,
  createdAt: '',
  lastUpdatedAt: '',
});
const DONE = {
  content: [{ type: 'text', text: 'done' }],
  _meta: { 'io.modelcontextprotocol/related-task': { taskId: 't1' } },
};

interface Scene {
  readonly child: FakeChild;
  readonly connection: Connection;
  readonly tasked: TaskedUpstream[];
  call(name: string, head?: Partial<Open>): Promise<Ended> & { cancel?: () => void };
  end(): Promise<void>;
}

async function scene(more: More, capabilities: object = CAPABILITIES): Promise<Scene> {
  const script: More = (message, child) => {
    if (more(message, child)) return true;
    if (message.method === 'tools/list') ok(child, message, { tools: TOOLS });
    else if (message.method === 'tools/call' && message.params?.task !== undefined)
      ok(child, message, { task: task('working') });
    else if (message.method === 'tools/call') ok(child, message, { content: [] });
    else if (message.method === 'tasks/get') ok(child, message, task('working'));
    else return false;
    return true;
  };
  const { spawn, children } = spawner(legacyServer(script, { capabilities }));
  const connector = connectorOf({ spawn, log: notedLog() });
  const connection = await connector.connect(specOf({ era: 'legacy' }), {}, NEVER);
  const tasked: TaskedUpstream[] = [];
  return {
    child: children[0]!,
    connection,
    tasked,
    call(name, head = {}) {
      const { reply, ended } = collect();
      const whole = { ...reply, tasked: (upstream: TaskedUpstream) => void tasked.push(upstream) };
      const call = connection.call(openOf('tools/call', { name, ...head }), bytes(`"name":"${name}"`), whole);
      return Object.assign(ended, { cancel: () => call.cancel('no longer wanted') });
    },
    async end() {
      await connection.stop('test');
      await connector.close();
    },
  };
}

const sent = (child: FakeChild, method: string) => child.received.filter((m) => m.method === method);

test('its result is the call’s, without the related-task mark, and the caller is told that it may take long', async () => {
  const s = await scene((message, child) => {
    if (message.method !== 'tasks/result') return false;
    ok(child, message, DONE);
    return true;
  });
  const { result, value } = await s.call('can', { task: OFFER });
  assert.equal(result?.resultType, 'complete');
  assert.deepEqual(value, { content: [{ type: 'text', text: 'done' }] });
  assert.deepEqual(s.tasked, [{ taskId: 't1', ttlMs: 9_000, pollIntervalMs: 250 }]);
  assert.deepEqual(sent(s.child, 'tools/call')[0]?.params?.task, { ttl: 60_000 });
  await s.end();
});

test('a tool that can is asked for a task only for who takes one; a tool that must, always', async () => {
  const s = await scene((message, child) => {
    if (message.method === 'tasks/result') ok(child, message, DONE);
    return message.method === 'tasks/result';
  });
  await s.call('can');
  await s.call('never', { task: OFFER });
  await s.call('must', { downstreamEra: 'legacy' });
  const wishes = sent(s.child, 'tools/call').map(({ params }) => params?.task !== undefined);
  assert.deepEqual(wishes, [false, false, true]);
  await s.end();
});

test('a tool that must is refused to a modern caller that takes none, before anything ran', async () => {
  const s = await scene(() => false);
  const { fault } = await s.call('must');
  assert.equal(fault?.code, -32021);
  assert.equal(fault?.mayHaveRun, false);
  assert.deepEqual(JSON.parse(fault?.data ?? ''), {
    requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  });
  assert.equal(sent(s.child, 'tools/call').length, 0);
  await s.end();
});

test('a server that declares no tasks is asked for none', async () => {
  const s = await scene(() => false, { tools: {} });
  await s.call('must', { task: OFFER });
  assert.equal(sent(s.child, 'tools/list').length, 0);
  assert.equal(sent(s.child, 'tools/call')[0]?.params?.task, undefined);
  await s.end();
});

test('the error of its result is the call’s own error', async () => {
  const s = await scene((message, child) => {
    if (message.method === 'tasks/result') fail(child, message, -32602, 'the job says no');
    else if (message.method === 'tasks/get') ok(child, message, task('failed'));
    else return false;
    return true;
  });
  const { fault } = await s.call('must', { task: OFFER });
  assert.equal(fault?.code, -32602);
  assert.equal(fault?.message, 'the job says no');
  await s.end();
});

test('a tasks/result that does not wait is asked again when the task has ended', async () => {
  let polls = 0;
  let over = false;
  const s = await scene((message, child) => {
    if (message.method === 'tasks/get') {
      over = ++polls > 2;
      ok(child, message, task(over ? 'completed' : 'working'));
    } else if (message.method === 'tasks/result') {
      if (over) ok(child, message, DONE);
      else fail(child, message, -32602, 'not ready');
    } else return false;
    return true;
  });
  const { value } = await s.call('must', { task: OFFER });
  assert.deepEqual(value, { content: [{ type: 'text', text: 'done' }] });
  await s.end();
});

test('while it works it counts as the call that runs: a question is its', async () => {
  const s = await scene(() => false);
  const call = s.call('must', { task: OFFER });
  await new Promise((done) => setImmediate(done));
  assert.equal(s.connection.open, 1);
  call.cancel?.();
  await call;
  await s.end();
});

test('cancelled, it is told so by tasks/cancel, whose refusal is nobody’s matter', async () => {
  const s = await scene((message, child) => {
    if (message.method === 'tasks/cancel') fail(child, message, -32602, 'terminal');
    return message.method === 'tasks/cancel' || message.method === 'tasks/result';
  });
  const call = s.call('must', { task: OFFER });
  await new Promise((done) => setImmediate(done));
  call.cancel?.();
  assert.equal((await call).fault?.reason, 'cancelled');
  assert.deepEqual(sent(s.child, 'tasks/cancel')[0]?.params?.taskId, 't1');
  await s.end();
});

test('lost with its process, it may have run', async () => {
  const s = await scene((message) => message.method === 'tasks/result');
  const call = s.call('must', { task: OFFER });
  await new Promise((done) => setImmediate(done));
  s.child.exit();
  const { fault } = await call;
  assert.equal(fault?.reason, 'lost');
  assert.equal(fault?.mayHaveRun, true);
  await s.end();
});

test('other tools are heard of when the server says so', async () => {
  let tools: object[] = [{ name: 'new', inputSchema: { type: 'object' } }];
  const s = await scene((message, child) => {
    if (message.method === 'tools/list') ok(child, message, { tools });
    else if (message.method === 'tasks/result') ok(child, message, DONE);
    else return false;
    return true;
  });
  await s.call('new', { task: OFFER });
  tools = [{ name: 'new', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }];
  s.child.write({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  await new Promise((done) => setImmediate(done));
  await s.call('new', { task: OFFER });
  assert.deepEqual(
    sent(s.child, 'tools/call').map(({ params }) => params?.task !== undefined),
    [false, true],
  );
  await s.end();
});
