// The four cells of tasks: a client of either era has work done as a task by a server of either era, is asked meanwhile,
// and collects the result (protocol.md §1.10, §5.1–§5.4). The published SDK has no client for the extension: raw here.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { connectV1 } from '../harness/client-legacy.ts';
import { eventually } from '../harness/eventually.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { createWireLog } from '../harness/wire-log.ts';
import { ask, call, ended, textOf, until } from '../tasks/client.ts';
import {
  answersTo,
  callOf,
  type Era,
  fromServer,
  type Json,
  metaOf,
  paramsOf,
  resultOf,
  those,
  toServer,
} from './cell.ts';
import { type HttpUpstream, httpUpstream } from './http-upstream.ts';
import { type Entry, type Upstream, upstream } from './upstream.ts';

const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-matrix-tasks-'));
const overHttp = (era: Era) => ({
  ...{ name: `${era}-http`, says: era, file: 'tasks' as const, args: [era], era, can: [] },
});
/** Over stdio, and over HTTP as `…-http`. */
const servers = new Map<string, Upstream>();
const remote: HttpUpstream[] = [];
const ERAS: readonly Era[] = ['modern', 'legacy'];
const ACCEPTED = { action: 'accept', content: { confirm: true } };
const RELATED = 'related-task';

let lockkeeper: Lockkeeper;
const url = (server: string) => lockkeeper.route(`/acme/${server}/mcp`);

before(async () => {
  for (const era of ERAS) {
    servers.set(era, upstream(era, 'works', era, folder));
    remote.push(await httpUpstream(overHttp(era), folder));
    servers.set(`${era}-http`, remote.at(-1)!);
  }
  lockkeeper = await startStandalone({
    servers: [...servers.values()].map(({ wish }) => wish),
    routes: [...servers.keys()].map((server) => ({
      path: `/acme/${server}/mcp`,
      tenant: 'acme',
      server,
      legacyTasks: true,
    })),
  });
});

after(async () => {
  await lockkeeper?.stop();
  await Promise.all(remote.map((one) => one.stop()));
  rmSync(folder, { recursive: true, force: true });
});

/** A flat task under a handle of ours, a question under a key, the result inside tasks/get. */
async function modernClient(server: string): Promise<string> {
  const { result } = await call(url(server), 'confirm_delete', { filename: 'f' });
  assert.equal(result?.resultType, 'task');
  assert.equal(result.task, undefined);
  const { taskId } = result;
  const asking = await until(url(server), taskId, (task) => task.status === 'input_required');
  const [key, request] = Object.entries(asking.inputRequests as Record<string, Json>)[0]!;
  assert.equal(request.method, 'elicitation/create');
  assert.match(String((request.params as Json).message), /^Server "[a-z-]+" asks: Delete f\?$/);
  await ask(url(server), 'tasks/update', { taskId, inputResponses: { [key]: ACCEPTED } });
  const done = await ended(url(server), taskId);
  assert.equal(done.status, 'completed');
  assert.equal(textOf(done as never), 'deleted f');
  return String(taskId);
}

/** A nested task, a wire request that names it, the result by tasks/result that names it, too. */
async function legacyClient(server: string): Promise<string> {
  const wire = createWireLog('legacy');
  const client = await connectV1(url(server), 'streamable', {
    capabilities: { elicitation: { form: {} } },
    fetch: wire.fetch,
  });
  client.setRequestHandler(ElicitRequestSchema, () => ACCEPTED as never);
  const params = { name: 'confirm_delete', arguments: { filename: 'f' }, task: { ttl: 60_000 } };
  const created = await client.request({ method: 'tools/call', params }, z.looseObject({ task: z.looseObject({}) }));
  const { taskId } = created.task;
  assert.equal(created.task.status, 'working');
  const result = await client.request(
    { method: 'tasks/result', params: { taskId: String(taskId) } },
    CallToolResultSchema,
  );
  assert.deepEqual(result.content, [{ type: 'text', text: 'deleted f' }]);
  await client.close();
  await wire.idle();
  const [question] = those(wire.heard, 'elicitation/create');
  assert.deepEqual(metaOf(question, RELATED), { taskId });
  const answer = wire.heard.find((one) => (resultOf(one).content as unknown[] | undefined)?.length === 1);
  assert.deepEqual(metaOf(answer, RELATED), { taskId });
  assert.deepEqual(wire.faults, []);
  return String(taskId);
}

/** Its own task, asked by its own names; the answer by tasks/update. */
function modernServer(up: readonly Entry[], handle: string): void {
  const [begun, ...more] = callOf(up);
  assert.equal(more.length, 0);
  assert.equal(paramsOf(begun).task, undefined);
  assert.notEqual((metaOf(begun, 'clientCapabilities') as { extensions?: Json }).extensions, undefined);
  const ids = toServer(up, 'tasks/get').map((one) => paramsOf(one).taskId);
  assert.ok(ids.length > 0);
  for (const id of ids) assert.match(String(id), /^task-\d+$/);
  const [update] = toServer(up, 'tasks/update');
  assert.deepEqual(Object.values(paramsOf(update).inputResponses as Json), [ACCEPTED]);
  assert.equal(toServer(up, 'tasks/result').length, 0);
  assert.ok(!JSON.stringify(up).includes(handle));
}

/** Asked for a task in the call, answered on the wire, collected by tasks/result. */
function legacyServer(up: readonly Entry[], handle: string): void {
  const [begun, ...more] = callOf(up);
  assert.equal(more.length, 0);
  assert.equal(typeof paramsOf(begun).task, 'object');
  assert.equal(toServer(up, 'tasks/result').length, 1);
  assert.equal(toServer(up, 'tasks/update').length, 0);
  assert.equal(fromServer(up, 'elicitation/create').length, 1);
  assert.deepEqual(answersTo(up, 'elicitation/create').map(resultOf), [ACCEPTED]);
  assert.ok(!JSON.stringify(up).includes(handle));
}

const CLIENTS = {
  modern: { act: modernClient, right: 'a flat task, asked by tasks/get, answered by tasks/update, result within' },
  legacy: { act: legacyClient, right: 'a nested task, asked on the wire and answered there, result by tasks/result' },
};
const UPSTREAMS = {
  modern: { holds: modernServer, right: 'the server has one task of its own, read and answered by its own name' },
  legacy: { holds: legacyServer, right: 'the server was called once with a wish for a task and answered on the wire' },
};

for (const client of ERAS) {
  for (const server of ['modern', 'legacy', 'modern-http', 'legacy-http']) {
    describe(`${client} client × ${server} server`, () => {
      const up = UPSTREAMS[server.split('-')[0] as Era];
      it(`task: ${CLIENTS[client].right}; ${up.right}`, async () => {
        const entries = servers.get(server)!.mark();
        const handle = await CLIENTS[client].act(server);
        await eventually(async () => up.holds(entries(), handle));
      });
    });
  }
}
