// Gateways and nodes joined by the real link over TCP, in this process, around one memory store. What the nodes do
// with a call is the test's own dispatcher.

import type { Link, LinkAnswer, LinkRequest } from '@lockkeeper/gateway/link/contract';
import { createLink, type LinkDeps } from '@lockkeeper/gateway/link/link';
import type { Dispatcher, StreamReply } from '@lockkeeper/pool-manager/link/contract';
import { createLinkServer, type LinkServer, type LinkServerDeps } from '@lockkeeper/pool-manager/link/server';
import type { Open } from '@lockkeeper/protocol/link/frames';
import { systemClock } from '@lockkeeper/state/clock';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import { createProving, randomToken } from '@lockkeeper/state/nodes/proving';
import { type Registration, registerNode } from '@lockkeeper/state/nodes/registration';
import { createNodeWatch, type NodeWatch } from '@lockkeeper/state/nodes/watch';
import type { Store } from '@lockkeeper/state/store';

export const SECRET = 'a secret that only the tests know';
export const quiet = () => undefined;

export interface TestNode {
  readonly id: string;
  readonly server: LinkServer;
  readonly registration: Registration;
  readonly address: string;
  readonly incarnation: string;
  /** As if the process were killed: sockets close, the entry stays until it expires. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export interface TestGateway {
  readonly link: Link;
  readonly watch: NodeWatch;
  stop(): Promise<void>;
}

export interface NodeOptions
  extends Partial<Pick<LinkServerDeps, 'listen' | 'tls' | 'stall' | 'maxStreams' | 'promises'>> {
  readonly secret?: string;
  readonly incarnation?: () => string;
}

export interface GatewayOptions extends Partial<Pick<LinkDeps, 'tls' | 'nodes'>> {
  readonly secret?: string;
  /** Sees these nodes instead of the registered ones. */
  readonly sees?: readonly TestNode[];
}

export interface Cluster {
  readonly store: Store;
  node(id: string, dispatcher: Dispatcher, options?: NodeOptions): Promise<TestNode>;
  gateway(options?: GatewayOptions): Promise<TestGateway>;
  stop(): Promise<void>;
}

export function createCluster(log: (words: string, level?: 'info' | 'warn') => void = quiet): Cluster {
  const warn = (words: string) => log(words, 'warn');
  const store = createMemoryStore({ clock: systemClock, warn });
  const stops: (() => Promise<void>)[] = [];

  async function node(id: string, dispatcher: Dispatcher, options: NodeOptions = {}): Promise<TestNode> {
    const { secret = SECRET, ...rest } = options;
    const life = randomToken();
    const incarnation = options.incarnation ?? (() => life);
    const server = createLinkServer({
      dispatcher,
      nodeId: id,
      proving: createProving(secret),
      nonce: randomToken,
      clock: systemClock,
      listen: { host: '127.0.0.1', port: 0 },
      log: (level, words) => log(`${id}: ${words}`, level),
      ...rest,
      incarnation,
    });
    const address = await server.start();
    const record = { id, incarnation: incarnation(), address, draining: false };
    const registration = await registerNode({ store, clock: systemClock, warn }, record);
    const stop = async () => {
      await registration.close();
      await server.destroy();
    };
    stops.push(stop);
    return { id, server, registration, address, incarnation: record.incarnation, kill: () => server.destroy(), stop };
  }

  async function gateway(options: GatewayOptions = {}): Promise<TestGateway> {
    const { secret = SECRET, sees, ...rest } = options;
    const watch = createNodeWatch({ store, clock: systemClock, warn });
    await watch.start();
    const seen = sees?.map((n) => n.registration.current());
    const link = createLink({
      nodes: seen === undefined ? watch : { live: () => seen, onChange: () => quiet },
      self: { id: `gateway-${randomToken().slice(0, 6)}`, incarnation: randomToken() },
      proving: createProving(secret),
      nonce: randomToken,
      random: Math.random,
      clock: systemClock,
      log: (level, words) => log(`gateway: ${words}`, level),
      ...rest,
    });
    await link.start();
    const stop = async () => {
      await link.close();
      await watch.close();
    };
    stops.push(stop);
    return { link, watch, stop };
  }

  return {
    store,
    node,
    gateway,
    stop: async () => {
      await Promise.all(stops.map((stop) => stop()));
      await store.close();
    },
  };
}

export const ALICE = { tenant: 'acme', issuer: 'https://idp.example', subject: 'alice', client: 'editor' };

let exchanges = 0;

export function request(change: Partial<LinkRequest> = {}): LinkRequest {
  exchanges += 1;
  return {
    xid: `x${exchanges}`,
    method: 'tools/call',
    server: 'echo',
    digest: 'd1',
    principal: ALICE,
    session: null,
    capabilities: {},
    downstreamEra: 'modern',
    progress: false,
    deadlineMs: 30_000,
    onVanish: 'cancel',
    owner: '["acme","echo"]',
    body: new Uint8Array(0),
    safe: false,
    ...change,
  };
}

export const nobodyLeaves = () => new AbortController().signal;
export const deaf = { event: quiet };

/** Answers each open as `serve` says. */
export function dispatcherOf(
  serve: (head: Open, body: Uint8Array, reply: StreamReply) => undefined | ((how: 'close' | 'break') => void),
  cancels: Pick<Dispatcher, 'cancel'> = { cancel: quiet },
): Dispatcher {
  return {
    open: (head, body, reply) => ({ vanished: serve(head, body, reply) ?? quiet }),
    cancel: cancels.cancel,
    listen: () => ({ vanished: quiet }),
    notify: quiet,
  };
}

export const echo = () =>
  dispatcherOf((_head, body, reply) => {
    reply.started();
    reply.result({ resultType: 'complete' }, body);
    return undefined;
  });

export function reasonOf(answer: LinkAnswer): string {
  return answer.kind === 'fault' ? answer.fault.reason : 'result';
}

export function textOf(answer: LinkAnswer): string {
  return answer.kind === 'result' ? new TextDecoder().decode(answer.body) : `fault ${answer.fault.reason}`;
}
