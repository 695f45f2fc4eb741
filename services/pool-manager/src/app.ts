// The pool manager's composition root: store, ownership, child processes, pools, the link's server; in which order they
// start, drain and end. No logic of a call lives here.

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { ConfigSource, Snapshot } from '@lockkeeper/protocol/config/settings';
import type { Implementation } from '@lockkeeper/protocol/mcp/capabilities';
import { sharedSecret } from '@lockkeeper/state/bootstrap';
import type { Clock } from '@lockkeeper/state/clock';
import type { Jobs } from '@lockkeeper/state/jobs';
import { LEASE_MS } from '@lockkeeper/state/nodes/lease';
import { createOwnership } from '@lockkeeper/state/nodes/ownership';
import { createProving, randomToken } from '@lockkeeper/state/nodes/proving';
import { STALL_MS } from '@lockkeeper/state/nodes/record';
import { type Registration, registerNode } from '@lockkeeper/state/nodes/registration';
import { createStallWatch } from '@lockkeeper/state/nodes/stall-watch';
import { createNodeWatch } from '@lockkeeper/state/nodes/watch';
import { createAdminServer } from '@lockkeeper/state/operator/admin';
import type { PoolOperator } from '@lockkeeper/state/operator/contract';
import type { Store } from '@lockkeeper/state/store';
import { createTaskStore } from '@lockkeeper/state/tasks/task-store';
import type { Registry } from 'prom-client';
import { openCgroups } from './child/end/cgroup.ts';
import { createGuard } from './child/end/guard.ts';
import { isOrphan, processName, sweepOrphans } from './child/end/marks.ts';
import type { ChildHost } from './child/environment.ts';
import { createLiving } from './child/living.ts';
import { createSpawn } from './child/spawn.ts';
import { createUsageReader } from './child/usage.ts';
import { createDispatcher } from './dispatch.ts';
import { createKeptState } from './lease/kept-state.ts';
import { createLinkServer } from './link/server.ts';
import { socketFile, sweepSocketFiles } from './link/socket-file.ts';
import { createListens } from './listen/listens.ts';
import { createMetrics } from './observe/metrics.ts';
import { createBackup } from './parked/backup.ts';
import { createParked } from './parked/parked.ts';
import { createPools } from './pool/pools.ts';
import { createPrewarm } from './pool/prewarm.ts';
import { createConnector } from './raise/connector.ts';
import type { Log } from './raise/contract.ts';
import { createRemote } from './remote/remote.ts';
import { createTasks } from './tasks/tasks.ts';

export interface PoolManagerDeps {
  readonly config: ConfigSource;
  readonly store: Store;
  /** The second timers of what waits for people. */
  readonly jobs: Jobs;
  readonly clock: Clock;
  readonly log: Log;
  /** What children may see of this machine: PATH, LANG, TZ. */
  readonly host: Omit<ChildHost, 'tmpDir'>;
  /** Standalone hands its own; else `link.secret`, else one shared through the store. */
  readonly linkSecret?: string;
  /** No port of its own for the operator: another in this process shows the numbers (`PoolManager.metrics`). */
  readonly admin?: 'elsewhere';
}

export interface PoolManager {
  /** Resolves when calls are taken: the link's address and the admin port as bound. */
  start(): Promise<{ readonly address: string; readonly nodeId: string; readonly adminPort: number | null }>;
  readonly metrics: Registry;
  readonly operator: PoolOperator;
  /**
   * Takes no new work and gives its keys away, lets what runs end for `drainMs`, what waits for people and tasks for
   * `humanMs` (default: no longer), then ends every child. Idempotent.
   */
  close(drainMs: number, humanMs?: number): Promise<void>;
  /** What `close` still waits for ends now. */
  hurry(): void;
}

const VERSION = (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string })
  .version;

/** How Lockkeeper introduces itself upstream; a client's own name stays downstream (protocol.md §4.3 CI). */
const CLIENT_INFO: Implementation = { name: 'lockkeeper', title: 'Lockkeeper', version: VERSION };

export async function createPoolManager(deps: PoolManagerDeps): Promise<PoolManager> {
  const { config, store, clock, log } = deps;
  const warn = (words: string): void => log.warn({}, words);
  const secret = deps.linkSecret ?? (await linkSecret(deps, warn));
  const nodeId = `node-${randomToken()}`;
  const tmpDir = tmpdir();
  const nodes = createNodeWatch({ store, clock, warn });
  // Where there are no others, nobody takes anything meanwhile.
  const stall = createStallWatch(clock, store.kind === 'memory' ? LEASE_MS / 2 : STALL_MS);
  let registration: Registration | undefined;

  const self = processName('self');
  const cgroups = self === null ? null : openCgroups(config.current().children.cgroup, self, isOrphan);
  const guard = self === null ? null : createGuard({ self, path: deps.host.path, tmpDir });
  const rates = () => {
    const { maxLinesPerSecond, maxBytesPerSecond } = config.current().limits;
    return { linesPerSecond: maxLinesPerSecond, bytesPerSecond: maxBytesPerSecond };
  };
  const living = createLiving(
    createSpawn({
      ...{ clock, log, guard },
      host: { ...deps.host, tmpDir },
      token: randomToken,
      maxLineBytes: () => config.current().limits.maxLineBytes,
      ...{ cgroups, rates },
      // A call may run from here on, so its gateway must know (design §4 `started`).
      beforeWrite: () => server.flush(),
    }),
  );
  const remote = createRemote({
    ...{ clock, log, version: VERSION, token: randomToken },
    maxLineBytes: () => config.current().limits.maxLineBytes,
    rates,
    beforeWrite: () => server.flush(),
    connector: () => connector,
  });
  const node = { id: nodeId, incarnation: () => ownership.incarnation };
  const backup = createBackup({
    ...{ jobs: deps.jobs, store, clock, log, node },
    lives: (id, incarnation) => nodes.live().some((one) => one.id === id && one.incarnation === incarnation),
  });
  const parked = createParked({
    ...{ store, clock, log, node, backup },
    random: randomToken,
    limits: () => config.current().limits,
  });
  const connector = createConnector({
    ...{ spawn: living.spawn, remote: remote.spawn, store, clock, log },
    questions: parked.questions,
    clientInfo: CLIENT_INFO,
    token: randomToken,
    limits: () => config.current().limits,
    onUnusable: (spec, error) => pools.unusable(spec, error),
    places: () => pools.places,
  });
  const pools = createPools({
    ...{ connector, clock, log, usage: createUsageReader(), running: living.children },
    // Typed on a command line, so it must not look like an option.
    name: `${nodeId.replaceAll(/[^a-zA-Z0-9]/g, '').slice(-4)}-`,
    limits: () => config.current().limits,
  });
  const ownership = createOwnership({
    ...{ store, clock, nodes, nodeId, stall, warn },
    token: randomToken,
    entry: {
      safeUntil: () => registration?.safeUntil() ?? Number.POSITIVE_INFINITY,
      safeSince: () => registration?.safeSince() ?? 0,
      renew: () => registration?.renew() ?? Promise.resolve(),
    },
    inUse: ({ owner }) => pools.inUse(owner),
    lost: (keys) => {
      for (const { owner } of keys) pools.dropOwner(owner);
      listens.lost(keys.map(({ owner }) => owner));
    },
    reborn: (incarnation) => {
      registration?.announce({ incarnation }).catch((error: unknown) => log.warn({ err: error }, 'incarnation'));
      server.announce();
      dispatcher.reborn('the node was away for too long');
    },
  });
  const listens = createListens({
    ...{ config, connector, pools, ownership, clock, log, node: nodeId },
    random: Math.random,
    asks: () => true,
  });
  const tasks = createTasks({ store: createTaskStore(store, clock.now), clock, log });
  const dispatcher = createDispatcher({
    adopt: tasks.adopt,
    ...{ config, connector, ownership, clock, log, parked, node: nodeId },
    keptState: createKeptState({ store, clock, log, sessionMaxMs: () => config.current().limits.sessionMaxMs }),
    pools: { lease: (request) => listens.lease(request, pools.lease(request)) },
    listen: listens.listen,
    onSettled: (facts) => metrics.settled(facts),
  });
  const { host, port, socketDir } = config.current().link;
  const server = createLinkServer({
    dispatcher: tasks.around(dispatcher),
    nodeId,
    incarnation: () => ownership.incarnation,
    proving: createProving(secret),
    nonce: randomToken,
    clock,
    listen: socketDir === undefined ? { host, port } : { path: socketFile(socketDir, nodeId) },
    promises: 'by-flush',
    log: (level, words) => log[level]({}, words),
    stall,
  });
  const unwatch = config.onChange((next, previous) => {
    for (const digest of gone(next, previous)) pools.retire(digest);
    for (const [id, { digest }] of previous.servers) if (!next.servers.has(id)) pools.retire(digest, 'now');
  });
  const prewarm = createPrewarm({ config, node: nodeId, nodes, ownership, pools, clock, log });

  const metrics = createMetrics({
    servers: () => config.current().servers,
    pools: () => pools.stats(),
    unfound: () => connector.backingOff?.() ?? 0,
    link: () => server.stats(),
    exchanges: () => dispatcher.size,
    parked: () => parked.size,
    tasks: () => tasks.size,
    keys: () => ownership.size,
    processMetrics: deps.admin !== 'elsewhere',
  });
  let ready = false;
  const operator: PoolOperator = {
    list: () => ({ node: nodeId, ...pools.list() }),
    order(order, whom) {
      const done = pools.order(order, whom);
      const which = 'id' in whom ? { detail: whom.id } : whom;
      log.info({ node: nodeId, what: order, count: done.length, ...which }, 'order of the operator');
      return done;
    },
  };
  const admin = createAdminServer({
    registry: metrics.registry,
    started: () => ready,
    notReady: () => [
      ...(registration === undefined ? ['the node is not registered yet'] : []),
      ...(closing !== null || server.stats().draining ? ['the node is draining'] : []),
    ],
    pools: operator,
    token: () => config.current().listen.adminToken,
  });

  async function start(): Promise<{ address: string; nodeId: string; adminPort: number | null }> {
    const { adminHost } = config.current().listen;
    const adminPort =
      deps.admin === 'elsewhere' ? null : await admin.listen(adminHost, config.current().link.adminPort);
    await sweepOrphans(tmpDir);
    await nodes.start();
    await backup.start();
    if (socketDir !== undefined) await sweepSocketFiles(socketDir);
    const bound = await server.start();
    const address = config.current().link.advertise ?? bound;
    registration = await registerNode(
      { store, clock, warn },
      { id: nodeId, incarnation: ownership.incarnation, address, draining: false },
    );
    prewarm.start();
    ready = true;
    return { address: bound, nodeId, adminPort };
  }

  function endQuick(): void {
    dispatcher.closeQuick('drained', store.kind !== 'memory');
  }

  function endAll(): void {
    dispatcher.close('drained', store.kind !== 'memory');
    tasks.close('drained').catch((error: unknown) => log.warn({ err: error }, 'tasks'));
  }

  async function end(drainMs: number, humanMs: number): Promise<void> {
    unwatch();
    prewarm.close();
    dispatcher.drain();
    listens.drain();
    await registration?.announce({ draining: true });
    // Others take them at once, or new work would wait for as long as a person may take here.
    await ownership.handOver();
    const late = [clock.setTimer(drainMs, endQuick), clock.setTimer(Math.max(drainMs, humanMs), endAll)];
    // Where everything ends with this process, nobody could ask for a task any more.
    if (store.kind !== 'memory') await tasks.idle();
    await server.close();
    // What is parked has no stream: who answers in time is served still, where anybody could come back at all.
    if (store.kind === 'memory') dispatcher.close('drained');
    await dispatcher.idle();
    for (const timer of late) timer.clear();
    await tasks.close('the node ends');
    listens.close();
    await parked.close();
    await pools.close(0);
    await connector.close();
    guard?.end();
    await cgroups?.close();
    await remote.close();
    await registration?.close();
    await ownership.close();
    await server.destroy();
    await nodes.close();
    stall.close();
    await admin.close();
  }

  let closing: Promise<void> | null = null;
  return {
    start,
    metrics: metrics.registry,
    operator,
    close: (drainMs, humanMs = drainMs) => {
      closing ??= end(drainMs, humanMs);
      return closing;
    },
    hurry: endAll,
  };
}

/** Digests that a reload took out of the configuration. */
function gone(next: Snapshot, previous: Snapshot): string[] {
  const kept = new Set([...next.servers.values()].map((spec) => spec.digest));
  return [...previous.servers.values()].map((spec) => spec.digest).filter((digest) => !kept.has(digest));
}

async function linkSecret({ config, store }: PoolManagerDeps, warn: (words: string) => void): Promise<string> {
  const { secret } = config.current().link;
  return secret ?? (await sharedSecret(store, 'link', 32, { random: randomBytes, warn })).toString('base64url');
}
