// Do clients of 2025-11-25 get tasks as their revision has them, where a route bridges them? The published SDK's own
// client, against plain servers, servers with tasks of their own, and a modern one; switched off, nothing is to be seen.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { connectV1 } from '../harness/client-legacy.ts';
import { eventually } from '../harness/eventually.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { call, get, textOf, until } from './client.ts';

const fixture = (name: string) => fileURLToPath(new URL(`../conformance/fixtures/${name}.ts`, import.meta.url));
const SERVERS = ['tasks', 'tasks-plain', 'tasks-legacy'] as const;
const RELATED = 'io.modelcontextprotocol/related-task';

type Json = Record<string, unknown>;

let lockkeeper: Lockkeeper;

before(async () => {
  lockkeeper = await startStandalone({
    servers: SERVERS.map((name) => ({ name, args: [fixture(name)] })),
    routes: [
      ...SERVERS.map((server) => ({ path: `/acme/${server}/mcp`, tenant: 'acme', server, legacyTasks: true })),
      { path: '/acme/off/mcp', tenant: 'acme', server: 'tasks-plain' },
    ],
  });
});

after(() => lockkeeper?.stop());

async function connected(server: string): Promise<{ client: Client; asked: Json[] }> {
  const client = await connectV1(lockkeeper.route(`/acme/${server}/mcp`), 'streamable', {
    capabilities: { elicitation: { form: {} } },
  });
  const asked: Json[] = [];
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    asked.push(params as Json);
    return { action: 'accept' as const, content: { confirm: true } };
  });
  return { client, asked };
}

/** Augmented on the wire: the SDK's streaming helper would hide what is between. */
async function start(client: Client, name: string, args: Json): Promise<Json> {
  const { z } = await import('zod');
  const params = { name, arguments: args, task: { ttl: 60_000 } };
  const result = await client.request({ method: 'tools/call', params }, z.looseObject({ task: z.looseObject({}) }));
  return result.task as Json;
}

for (const server of SERVERS) {
  describe(`a 2025-11-25 client of "${server}"`, () => {
    let client: Client;
    let asked: Json[];
    before(async () => {
      ({ client, asked } = await connected(server));
    });
    after(() => client?.close());

    it('is told that tasks are served, and which tools take them', async () => {
      assert.deepEqual(client.getServerCapabilities()?.tasks, {
        list: {},
        cancel: {},
        requests: { tools: { call: {} } },
      });
      const { tools } = await client.listTools();
      assert.ok(tools.length > 0);
      for (const tool of tools) assert.equal(tool.execution?.taskSupport, 'optional', tool.name);
    });

    it('gets a nested task at once, and by tasks/result exactly what the call would have given', async () => {
      const task = await start(client, 'slow_compute', { seconds: 0.3, label: 'bridged' });
      assert.equal(task.status, 'working');
      assert.equal(typeof task.ttl, 'number');
      assert.equal('ttlMs' in task, false);
      const taskId = String(task.taskId);
      assert.equal((await client.experimental.tasks.getTask(taskId)).status, 'working');
      const result = await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);
      assert.match(JSON.stringify(result.content), /computed bridged/);
      assert.deepEqual(result._meta?.[RELATED], { taskId });
      assert.equal((await client.experimental.tasks.getTask(taskId)).status, 'completed');
      await assert.rejects(client.experimental.tasks.cancelTask(taskId), /-32602|ended/);
    });

    it('sees a tool that failed as a failed task', async () => {
      const { taskId } = await start(client, 'failing_job', {});
      const result = await client.experimental.tasks.getTaskResult(String(taskId), CallToolResultSchema);
      assert.equal(result.isError, true);
      assert.equal((await client.experimental.tasks.getTask(String(taskId))).status, 'failed');
    });

    // The SDK v1 server keeps no error of a task.
    const erring = server === 'tasks-legacy' ? null : 'protocol_error_job';
    if (erring !== null)
      it('gets the error of JSON-RPC by tasks/result', async () => {
        const { taskId } = await start(client, erring, {});
        await assert.rejects(client.experimental.tasks.getTaskResult(String(taskId)), /broke the protocol/);
        assert.equal((await client.experimental.tasks.getTask(String(taskId))).status, 'failed');
      });

    it('is asked on the way of tasks/result, with the task named', async () => {
      const { taskId } = await start(client, 'confirm_delete', { filename: server });
      const result = await client.experimental.tasks.getTaskResult(String(taskId), CallToolResultSchema);
      assert.match(JSON.stringify(result.content), new RegExp(`deleted ${server}`));
      assert.equal(asked.length, 1);
      assert.deepEqual((asked[0]!._meta as Json)[RELATED], { taskId });
    });

    it('lists its tasks, and cancels for good', async () => {
      const { taskId } = await start(client, 'slow_compute', { seconds: 60 });
      const before = await client.experimental.tasks.listTasks();
      assert.ok(before.tasks.some((task) => task.taskId === taskId && task.status === 'working'));
      const cancelled = await client.experimental.tasks.cancelTask(String(taskId));
      assert.equal(cancelled.status, 'cancelled');
      assert.equal((await client.experimental.tasks.getTask(String(taskId))).status, 'cancelled');
      await assert.rejects(client.experimental.tasks.cancelTask(String(taskId)), /ended/);
      await assert.rejects(client.experimental.tasks.getTask('never-was'), /-32602/);
    });

    it('is answered as ever where it wants no task', async () => {
      const result = await client.callTool({ name: 'greet', arguments: { name: 'Ada' } });
      assert.match(JSON.stringify(result.content), /Hello, Ada!/);
    });
  });
}

describe('two views of one task', () => {
  it('a task of a legacy session is read through the extension by the same caller', async () => {
    const { client } = await connected('tasks-plain');
    const { taskId } = await start(client, 'slow_compute', { seconds: 0.2, label: 'both' });
    const url = lockkeeper.route('/acme/tasks-plain/mcp');
    assert.equal(textOf(await until(url, taskId, (task) => task.status === 'completed')), 'computed both');
    await client.close();
  });

  it('on another route it is unknown', async () => {
    const { result } = await call(lockkeeper.route('/acme/tasks/mcp'), 'slow_compute', {});
    const elsewhere = await get(lockkeeper.route('/acme/tasks-plain/mcp'), result?.taskId);
    assert.equal(elsewhere.error?.code, -32602);
  });
});

describe('without the switch', () => {
  it('there are no tasks for a legacy client, and a wish for one is ignored', async () => {
    const { client } = await connected('off');
    assert.equal(client.getServerCapabilities()?.tasks, undefined);
    const { tools } = await client.listTools();
    for (const tool of tools) assert.equal(tool.execution, undefined);
    const result = await eventually(() =>
      client.request(
        { method: 'tools/call', params: { name: 'greet', arguments: { name: 'Ada' }, task: { ttl: 1000 } } },
        CallToolResultSchema,
      ),
    );
    assert.match(JSON.stringify(result.content), /Hello, Ada!/);
    await assert.rejects(client.experimental.tasks.listTasks(), /-32601|does not support/);
    await client.close();
  });
});
