// What does a caller see of a task? Names of an aggregate inside its result, faults of the node in the words of
// tools/call, questions only as far as they were declared; and the same for 2025-11-25.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskRecord } from '@lockkeeper/state/tasks/task-store';
import type { Exchange } from '../../src/exchange.ts';
import type { Upstream } from '../../src/route/contract.ts';
import { legacyTask, openQuestions, underlyingError, underlyingResult } from '../../src/tasks/legacy-text.ts';
import { shownTask } from '../../src/tasks/shown.ts';

type Json = Record<string, unknown>;

const BASE = '"taskId":"h","status":"completed","createdAt":"c","lastUpdatedAt":"l","ttlMs":9,"pollIntervalMs":5';
const up = { spec: { name: 'notes' } } as Upstream;
const exchangeOf = (aggregate: boolean) =>
  ({ xid: 'x', capabilities: {}, route: { aggregate } }) as unknown as Exchange;
const recordOf = (more: Partial<TaskRecord> = {}) => ({ era: 'modern', capabilities: {}, ...more }) as TaskRecord;
const json = (members: Uint8Array) => JSON.parse(`{${Buffer.from(members).toString()}}`) as Json;

function shown(members: string, aggregate = false, record = recordOf()) {
  return shownTask(exchangeOf(aggregate), up, record, Buffer.from(members));
}

function taskOf(members: string, aggregate = false, record = recordOf()): Json {
  const task = shown(members, aggregate, record);
  assert.equal(task.kind, 'shown', JSON.stringify(task));
  return task.kind === 'shown' ? json(task.members) : {};
}

test('on a one-server route nothing is changed, byte for byte', () => {
  const members = `${BASE},"result":{"content":[{"type":"resource_link","uri":"a://b","name":"n","x":1e2}]}`;
  const task = shown(members);
  assert.equal(task.kind === 'shown' && Buffer.from(task.members).toString(), members);
});

test('an aggregate’s URIs are its own inside the result, too', () => {
  const link = { type: 'resource_link', uri: 'a://b', name: 'n' };
  const task = taskOf(`${BASE},"result":{"content":[${JSON.stringify(link)}]}`, true);
  assert.deepEqual(task.result, { content: [{ ...link, uri: 'a://b#lk.notes' }] });
  assert.equal(task.status, 'completed');
});

test('a loss is a result with isError, as tools/call would have had it', () => {
  const fault = { reason: 'lost', code: -32603, message: 'gone', mayHaveRun: true };
  const failed = BASE.replace('completed', 'failed');
  const task = taskOf(`${failed},"lk/fault":${JSON.stringify(fault)}`);
  assert.equal(task.status, 'completed');
  assert.equal((task.result as Json).isError, true);
  assert.equal(((task.result as Json)._meta as Json)['lockkeeper/reason'], 'lost');
  assert.equal('lk/fault' in task, false);
});

test('an error of the server’s own makes a failed task, under a code that may be shown', () => {
  const fault = { reason: 'upstream', code: -32005, message: 'no', data: '{"why":1}', mayHaveRun: true };
  const failed = BASE.replace('completed', 'failed');
  const task = taskOf(`${failed},"lk/fault":${JSON.stringify(fault)}`);
  assert.equal(task.status, 'failed');
  assert.deepEqual(task.error, { code: -32603, message: 'no', data: { why: 1 } });
});

test('a question names its server, and one that was not declared is a breach', () => {
  const params = { mode: 'form', message: 'Sure?', requestedSchema: { type: 'object' } };
  const asking = `${BASE.replace('completed', 'input_required')},"inputRequests":{"k":${JSON.stringify({ method: 'elicitation/create', params })}}`;
  const task = taskOf(asking, false, recordOf({ capabilities: { elicitation: { form: {} } } }));
  const { k } = task.inputRequests as Record<string, { params: Json }>;
  assert.equal(k?.params.message, 'Server "notes" asks: Sure?');
  assert.equal(shown(asking).kind, 'breach');
});

test('2025-11-25 has other names, no payload, and calls a failed tool a failed task', () => {
  const members = Buffer.from(`${BASE},"result":{"isError":true,"content":[]}`);
  assert.deepEqual(json(legacyTask(members)), {
    taskId: 'h',
    status: 'failed',
    createdAt: 'c',
    lastUpdatedAt: 'l',
    ttl: 9,
    pollInterval: 5,
  });
  assert.equal(json(legacyTask(Buffer.from(`${BASE},"result":{"content":[]}`))).status, 'completed');
});

test('its tasks/result is the underlying result or error, with the mark beside what is there', () => {
  const result = underlyingResult(Buffer.from(`${BASE},"result":{"_meta":{"acme/x":1},"content":[]}`), 'h');
  assert.equal(Buffer.from(result!.members).toString(), '"content":[]');
  assert.deepEqual(JSON.parse(`{${result!.meta}}`), {
    'io.modelcontextprotocol/related-task': { taskId: 'h' },
    'acme/x': 1,
  });
  const error = Buffer.from(`${BASE},"error":{"code":7,"message":"m","data":[1]}`);
  assert.deepEqual(underlyingError(error), { code: 7, message: 'm', data: '[1]' });
});

test('a set of questions has one name, whatever their order', () => {
  const of = (requests: object) => openQuestions(Buffer.from(`"inputRequests":${JSON.stringify(requests)}`))?.state;
  assert.equal(of({ a: {}, b: {} }), of({ b: {}, a: {} }));
  assert.notEqual(of({ a: {} }), of({ a: {}, b: {} }));
  assert.equal(openQuestions(Buffer.from(BASE)), null);
});
