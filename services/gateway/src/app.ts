// The gateway's composition root: builds each room, hands it only what it needs, and knows in which order they start,
// drain and close. No logic of a request lives here.

import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ConfigSource } from '@lockkeeper/protocol/config/settings';
import type { Implementation } from '@lockkeeper/protocol/mcp/capabilities';
import { sharedSecret } from '@lockkeeper/state/bootstrap';
import type { Clock } from '@lockkeeper/state/clock';
import { createProving, randomToken } from '@lockkeeper/state/nodes/proving';
import { createNodeWatch } from '@lockkeeper/state/nodes/watch';
import { createAdminServer } from '@lockkeeper/state/operator/admin';
import type { PoolOperator } from '@lockkeeper/state/operator/contract';
import type { Store } from '@lockkeeper/state/store';
import { createTaskStore } from '@lockkeeper/state/tasks/task-store';
import { Registry } from 'prom-client';
import { createForgetting } from './forget.ts';
import { createGatewayHttp } from './http/gateway.ts';
import { createLink } from './link/link.ts';
import { Audience } from './listen/audience.ts';
import { createHub } from './listen/hub.ts';
import { createModernListens } from './listen/modern.ts';
import { createLegacyLeg, type RunningLegacyLeg } from './lower/legacy/leg.ts';
import type { Logging } from './observe/logger.ts';
import { createMetrics } from './observe/metrics.ts';
import { createRouteObserver } from './observe/route-observer.ts';
import { sayCautions } from './policy/caution.ts';
import { createRoute, type Route } from './route/answer.ts';
import { loadSealKeys, retakeSealKeys } from './seal/keys.ts';
import { createSealRing, type RingKeys } from './seal/ring.ts';
import { createTaskEvents } from './tasks/watch.ts';

export interface GatewayDeps {
  readonly config: ConfigSource;
  readonly store: Store;
  readonly clock: Clock;
  readonly logging: Logging;
  /** Standalone hands its own; else `link.secret`, else one shared through the store. */
  readonly linkSecret?: string;
  /** One process has one set of process metrics. */
  readonly processMetrics: boolean;
  /** Shown on the admin port too: a node of the same process. */
  readonly alsoMetrics?: Registry;
  readonly alsoPools?: PoolOperator;
}

export interface Gateway {
  /** Resolves when requests are taken: the public port and the admin port, as bound. */
  start(): Promise<{ readonly port: number; readonly adminPort: number }>;
  /**
   * Is unready at once, takes new work for `leadMs` more (default: none), lets what runs end until `drainMs` are over,
   * then ends everything. Idempotent.
   */
  close(drainMs: number, leadMs?: number): Promise<void>;
}

const VERSION = (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string })
  .version;

/** How the gateway introduces itself downstream; never an upstream's identity (protocol.md §2.6). */
export const SERVER_INFO: Implementation = { name: 'lockkeeper', title: 'Lockkeeper', version: VERSION };

export async function createGateway(deps: GatewayDeps): Promise<Gateway> {
  const { config, store, clock, logging } = deps;
  const { log, writeAudit } = logging;
  const warn = (words: string): void => log.warn(words);
  const secret = deps.linkSecret ?? (await linkSecret(deps, warn));
  const keys = await loadSealKeys(config.current(), { store, warn });
  const ring = createSealRing({
    keys,
    now: clock.now,
    refused: (kind, why) => log.info('a seal was refused', { reason: `${kind}: ${why}` }),
  });
  const metrics = createMetrics({ processMetrics: deps.processMetrics });
  const nodes = createNodeWatch({ store, clock, warn });
  const link = createLink({
    nodes,
    self: { id: `gateway-${randomToken()}`, incarnation: randomToken() },
    proving: createProving(secret),
    nonce: randomToken,
    random: Math.random,
    clock,
    log: (level, words) => log[level](words),
  });
  const forgetting = createForgetting(clock);
  const hub = createHub({
    ...{ link, clock },
    random: Math.random,
    stale: (owner, list) => {
      route.room.catalogue.stale(owner, list);
      if (list === 'resources') route.room.catalogue.stale(owner, 'templates');
    },
    log: (fields, words) => log.info(words, fields),
  });
  const route: Route = createRoute({
    link,
    store,
    config,
    clock,
    ring,
    log: { warn: (fields, words) => log.warn(words, fields) },
    newXid: randomToken,
    tasks: createTaskStore(store, clock.now),
    observer: createRouteObserver(metrics, log),
    questions: true,
    delivers: { listChanged: true, subscribe: true },
    follow: (exchange, up) => {
      const { listTtlMs } = config.current().limits;
      hub.follow({ up, principal: exchange.caller.principal, session: exchange.session }, listTtlMs);
    },
  });
  forgetting.add(route.room.catalogue.forget);
  const stopWatching = [config.onChange((next) => retakeSealKeys(ring, next, warn)), sayCautions(config, warn)];
  let legacy: RunningLegacyLeg | undefined;
  const http = createGatewayHttp({
    config,
    answer: route.answer,
    legacy: (recorder) => {
      legacy = createLegacyLeg({
        ...{ store, config, clock, link, recorder, log, forgetting },
        answer: route.answer,
        initializeInfo: route.initializeInfo,
        audience: (exchange, wanted, ears) =>
          new Audience({ room: route.room, hub, clock, promised: true }, exchange, wanted, ears),
        random: randomBytes,
        serverInfo: SERVER_INFO,
        wireSecret: wireSecretOf(keys),
      });
      return legacy;
    },
    listens: (recorder) =>
      createModernListens({
        ...{ room: route.room, hub, clock, recorder, log },
        random: Math.random,
        serverInfo: SERVER_INFO,
        taskEvents: createTaskEvents(route.room),
      }),
    serverInfo: SERVER_INFO,
    clock,
    log,
    metrics,
    writeAudit,
    forgetting,
  });
  let state: 'starting' | 'running' | 'draining' = 'starting';
  const admin = createAdminServer({
    registry: deps.alsoMetrics === undefined ? metrics.registry : Registry.merge([metrics.registry, deps.alsoMetrics]),
    started: () => state !== 'starting',
    notReady: () => [
      ...(state === 'running' ? [] : [`the gateway is ${state}`]),
      ...(link.nodes() > 0 ? [] : ['no pool manager is known']),
    ],
    pools: deps.alsoPools,
    token: () => config.current().listen.adminToken,
  });
  let closing: Promise<void> | null = null;

  async function start(): Promise<{ port: number; adminPort: number }> {
    await nodes.start();
    await legacy?.start();
    await link.start();
    forgetting.start();
    const { adminHost, adminPort } = config.current().listen;
    const boundAdmin = await admin.listen(adminHost, adminPort);
    const port = await http.listen();
    state = 'running';
    return { port, adminPort: boundAdmin };
  }

  async function end(drainMs: number, leadMs?: number): Promise<void> {
    state = 'draining';
    await http.close(drainMs, leadMs);
    forgetting.close();
    hub.close();
    await link.close();
    await nodes.close();
    await admin.close();
    for (const stop of stopWatching) stop();
  }

  return {
    start,
    close: (drainMs, leadMs) => {
      closing ??= end(drainMs, leadMs);
      return closing;
    },
  };
}

/** For ids only, which must be the same on every replica; no seal can be made with it. */
function wireSecretOf({ keys, sealWith }: RingKeys): Uint8Array {
  const key = keys.find(({ kid }) => kid === sealWith) ?? keys[0]!;
  return createHmac('sha256', key.key).update('lockkeeper wire ids').digest();
}

async function linkSecret({ config, store }: GatewayDeps, warn: (words: string) => void): Promise<string> {
  const { secret } = config.current().link;
  return secret ?? (await sharedSecret(store, 'link', 32, { random: randomBytes, warn })).toString('base64url');
}
