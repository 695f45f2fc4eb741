// Nodes with the real dispatcher over real processes, and gateways' ends of the link: everything between a route and a
// server's pipe, in this process.

import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { LinkAnswer, LinkRequest } from '@lockkeeper/gateway/link/contract';
import { hostOf } from '@lockkeeper/pool-manager/child/host';
import { createSpawn } from '@lockkeeper/pool-manager/child/spawn';
import { createDispatcher } from '@lockkeeper/pool-manager/dispatch';
import { createParked, type ParkedDeps } from '@lockkeeper/pool-manager/parked/parked';
import { createPools } from '@lockkeeper/pool-manager/pool/pools';
import { createConnector } from '@lockkeeper/pool-manager/raise/connector';
import {
  type ConfigSource,
  type Limits,
  mayAsk,
  type ServerSpec,
  type Snapshot,
} from '@lockkeeper/protocol/config/settings';
import type { Principal } from '@lockkeeper/protocol/link/frames';
import { ownerKey } from '@lockkeeper/protocol/link/keys';
import { systemClock } from '@lockkeeper/state/clock';
import { randomToken } from '@lockkeeper/state/nodes/proving';
import {
  ALICE,
  type Cluster,
  createCluster,
  nobodyLeaves,
  request,
  type TestGateway,
  type TestNode,
} from '../link/cluster.ts';

export const FORM = { elicitation: { form: {} } };
export const ALL = { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } };
export { ALICE };
export const BOB: Principal = { ...ALICE, subject: 'bob' };

const SERVER = fileURLToPath(new URL('../servers/asks-input.mjs', import.meta.url));
const LIMITS = {
  queueMs: 30_000,
  maxQueue: 1000,
  maxLineBytes: 4 * 1024 * 1024,
  maxResultBytes: 4 * 1024 * 1024,
  listTtlMs: 0,
  maxPerServer: 8,
  maxPerTenant: 8,
  maxPerNode: 8,
  sessionIdleMs: 60_000,
  humanMs: 60_000,
  maxParkedPerPrincipal: 1000,
  maxParkedPerServer: 1000,
};

export interface RealNode extends TestNode {
  readonly children: () => number;
}

export interface Real {
  readonly cluster: Cluster;
  readonly gateway: TestGateway;
  readonly other: TestGateway;
  readonly node: TestNode;
  readonly log: string[];
  stop(): Promise<void>;
}

export interface RealWish {
  readonly spec?: Partial<ServerSpec>;
  readonly env?: Record<string, string>;
  readonly limits?: Partial<Limits>;
  readonly parked?: Partial<ParkedDeps>;
}

export function specOf({ spec, env }: RealWish): ServerSpec {
  return {
    name: 'asks',
    tenant: 'acme',
    stdio: { command: process.execPath, args: [SERVER], env: { ...env }, cwd: '/' },
    isolation: 'user',
    keepsNothing: false,
    ask: { roots: 'caller', sampling: 'caller', elicitation: 'caller' },
    pool: { max: 2, minWarm: 0, idleMs: 60_000, maxAgeMs: 3_600_000, maxUses: 100_000 },
    era: 'legacy',
    startTimeoutMs: 20_000,
    callTimeoutMs: 30_000,
    digest: 'd1',
    ...spec,
  };
}

export async function real(wish: RealWish = {}): Promise<Real> {
  const cluster = createCluster();
  const spec = specOf(wish);
  const limits = { ...LIMITS, ...wish.limits } as Limits;
  const snapshot = { servers: new Map([['acme/asks', spec]]), limits } as unknown as Snapshot;
  const config: ConfigSource = { current: () => snapshot, onChange: () => () => {} };
  const lines: string[] = [];
  const note = (fields: object, words: string) => void lines.push(`${words} ${JSON.stringify(fields)}`);
  const log = { debug: () => {}, info: note, warn: note };
  const base = { clock: systemClock, log };
  const spawn = createSpawn({
    ...base,
    host: { ...hostOf(process.env), tmpDir: tmpdir() },
    token: randomToken,
    maxLineBytes: () => limits.maxLineBytes,
    patience: { closeMs: 500, termMs: 500 },
  });
  const incarnation = randomToken();
  const parked = createParked({
    ...base,
    store: cluster.store,
    random: randomToken,
    limits: () => limits,
    node: { id: 'node-1', incarnation: () => incarnation },
    ...wish.parked,
  });
  const connector = createConnector({
    ...base,
    ...{ spawn, store: cluster.store, token: randomToken, questions: parked.questions },
    clientInfo: { name: 'lockkeeper', version: '1.0.0' },
    limits: () => limits,
  });
  const pools = createPools({ ...base, connector, limits: () => limits });
  const ownership = { claim: async () => ({ kind: 'held' as const }) };
  const dispatcher = createDispatcher({ ...base, config, connector, pools, ownership, parked });
  const node = await cluster.node('node-1', dispatcher, { incarnation: () => incarnation });
  const [gateway, other] = [await cluster.gateway(), await cluster.gateway()];
  return {
    ...{ cluster, gateway, other, node, log: lines },
    async stop() {
      dispatcher.close('drained');
      await cluster.stop();
      await pools.close(0);
      await connector.close();
      await parked.close();
    },
  };
}

export interface Heard {
  readonly answer: LinkAnswer;
  readonly events: string[];
  readonly accepted: boolean;
}

export async function call(
  gateway: TestGateway,
  spec: ServerSpec,
  tool: string,
  args: Record<string, unknown>,
  change: Partial<LinkRequest> & { readonly answers?: unknown } = {},
): Promise<Heard> {
  const { answers, ...more } = change;
  const principal = more.principal ?? ALICE;
  const { isolation, digest, name: server } = spec;
  const owner = ownerKey({ server, digest, isolation, principal, session: more.session ?? null, mayAsk: mayAsk(spec) });
  const responses = answers === undefined ? '' : `,"inputResponses":${JSON.stringify(answers)}`;
  const body = Buffer.from(`"name":"${tool}","arguments":${JSON.stringify(args)}${responses}`);
  const events: string[] = [];
  let accepted = false;
  const listener = {
    event: (method: string, members: Uint8Array) => void events.push(`${method} ${Buffer.from(members).toString()}`),
    accepted: () => {
      accepted = true;
    },
  };
  const asked = request({ server, digest, owner, body, capabilities: FORM, name: tool, ...more });
  const answer = await gateway.link.call(asked, listener, nobodyLeaves());
  return { answer, events, accepted };
}

export interface Question {
  readonly xid: string;
  readonly state: string;
  readonly keys: string[];
  readonly text: string;
  readonly events: string[];
}

export function questionOf({ answer, events }: Heard, xid: string): Question {
  if (answer.kind !== 'result' || answer.head.resultType !== 'input_required') {
    throw new Error(`no question: ${JSON.stringify(answer.kind === 'fault' ? answer.fault : answer.head)}`);
  }
  const text = Buffer.from(answer.body).toString();
  const { inputRequests } = JSON.parse(`{${text}}`) as { inputRequests: object };
  return { xid, state: answer.head.state!, keys: Object.keys(inputRequests), text, events };
}

export function resultOf({ answer }: Heard): { secret: string; told: unknown; isError?: boolean } {
  if (answer.kind !== 'result') throw new Error(JSON.stringify(answer.fault));
  const { content } = JSON.parse(`{${Buffer.from(answer.body).toString()}}`) as { content: { text: string }[] };
  return JSON.parse(content[0]!.text) as { secret: string; told: unknown };
}
