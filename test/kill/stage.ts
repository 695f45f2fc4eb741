// Three gateways, two pool managers, one Redis, and a server that asks: what each test of sudden death starts from.

import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Cluster, type ClusterWish, startCluster, warm } from '../harness/lockkeeper.ts';
import { callModern } from '../harness/messages.ts';
import { descendants } from '../harness/process-tree.ts';
import type { Entry } from '../matrix/upstream.ts';

export type Json = Record<string, unknown>;

export interface Result {
  readonly resultType: string;
  readonly requestState?: string;
  readonly inputRequests?: Record<string, { method: string; params: { message: string } }>;
  readonly content?: { text: string }[];
  readonly isError?: boolean;
  readonly _meta?: Json;
}

export interface Wish {
  readonly arg: string;
  readonly gateway?: number;
  readonly server?: string;
  readonly tool?: string;
  readonly args?: Json;
  readonly question?: Question;
  readonly answer?: Json;
  readonly meta?: Json;
  readonly token?: string;
}

export interface Question {
  readonly key: string;
  readonly state: string;
}

export interface Stage {
  readonly cluster: Cluster;
  url(gateway: number, server?: string): string;
  call(
    wish: Wish,
  ): Promise<{ status: number; result?: Result; error?: { code: number; message: string }; before: Json[] }>;
  question(wish: Wish): Promise<Question>;
  /** How often a call with this argument has begun. */
  runs(arg: string): number;
  recorded(): readonly Entry[];
  /** The pool manager that has this process, and the other. */
  holderOf(pid: number): { readonly holder: number; readonly other: number };
  stop(): Promise<void>;
}

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const CC = 'io.modelcontextprotocol/clientCapabilities';
export const ACCEPT: Json = { action: 'accept', content: { code: '42' } };

type Isolation = 'user' | 'exclusive';

export async function startStage(
  redis: string,
  more: Partial<ClusterWish> = {},
  isolations: readonly Isolation[] = ['user'],
): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-kill-'));
  const [counter, record] = [join(folder, 'counter'), join(folder, 'record')];
  for (const file of [counter, record]) appendFileSync(file, '');
  const args = ['--import', at('../matrix/servers/record.mjs'), at('./servers/confirms-and-tells.mjs')];
  const env = { COUNTER: counter, RECORD: record };
  const cluster = await startCluster({
    gateways: 3,
    poolManagers: 2,
    redis,
    servers: isolations.map((isolation) => ({ name: isolation, args, env, isolation })),
    ...more,
  });
  const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n').slice(0, -1);
  const url = (gateway: number, server = 'user') => cluster.gateways[gateway]!.route(`/acme/${server}/mcp`);
  const stage: Stage = {
    cluster,
    url,
    async call({ arg, gateway = 0, server, tool = 'work', args = {}, question, answer = ACCEPT, meta, token }) {
      const { status, message, before } = await callModern(url(gateway, server), {
        method: 'tools/call',
        params: {
          name: tool,
          arguments: { arg, ...args },
          ...(question && { requestState: question.state, inputResponses: { [question.key]: answer } }),
        },
        meta: { [CC]: { elicitation: { form: {} } }, ...meta },
        ...(token !== undefined && { token }),
      });
      return { status, before, ...(message as { result?: Result; error?: { code: number; message: string } }) };
    },
    async question(wish) {
      const { result, error } = await stage.call(wish);
      assert.equal(result?.resultType, 'input_required', JSON.stringify(result ?? error));
      const [key, request] = Object.entries(result.inputRequests!)[0]!;
      assert.ok(request.params.message.endsWith(`confirm ${wish.arg}?`), request.params.message);
      return { key, state: result.requestState! };
    },
    runs: (arg) => linesOf(counter).filter((line) => line === arg).length,
    recorded: () => linesOf(record).map((line) => JSON.parse(line) as Entry),
    holderOf(pid) {
      const holder = cluster.poolManagers.findIndex((node) => descendants(node.pid).some((one) => one.pid === pid));
      assert.ok(holder >= 0, `nobody has ${pid}`);
      return { holder, other: 1 - holder };
    },
    stop: async () => {
      await cluster.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  if (more.auth === undefined) {
    await warm(async () => {
      const { result, error } = await stage.call({ arg: 'warm', tool: 'pid' });
      assert.ok(result?.content, JSON.stringify(error));
    });
  }
  return stage;
}

export const textOf = (said: { result?: Result; error?: unknown }) =>
  said.result?.content?.[0]?.text ?? JSON.stringify(said.error ?? said.result);
