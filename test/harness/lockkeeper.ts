// Starts Lockkeeper as an operator would: a configuration file and the services' own mains, standalone or as separate
// gateways and pool managers. The file is written as JSON, which is YAML too.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.ts';
import { freePort } from './ports.ts';
import { type Running, startProcess } from './process.ts';

type Json = Readonly<Record<string, unknown>>;

export interface ServerWish {
  readonly name: string;
  /** Of a stdio server. */
  readonly args?: readonly string[];
  /** Instead: a remote one. Loopback without TLS is allowed unless said otherwise. */
  readonly http?: Json;
  readonly command?: string;
  readonly isolation?: 'shared' | 'exclusive' | 'user' | 'session';
  readonly env?: Readonly<Record<string, string>>;
  readonly tenant?: string;
  /** Anything else of the server's section, as in the schema. */
  readonly more?: Json;
}

export interface Wish {
  readonly servers: readonly ServerWish[];
  /** Default: one route `/<tenant>/<server>/mcp` a server and the aggregate `/acme/mcp`. */
  readonly routes?: readonly Json[];
  readonly auth?: Json;
  readonly policy?: readonly Json[];
  readonly tenants?: readonly string[];
  readonly limits?: Json;
  /** Beside the addresses. */
  readonly listen?: Json;
  /** Merged over the whole file last. */
  readonly more?: Json;
  readonly env?: Readonly<Record<string, string>>;
  /** Node options of the started services, such as `--max-semi-space-size=4`. */
  readonly nodeArgs?: readonly string[];
}

export interface Lockkeeper {
  /** Base URL without a slash at its end. */
  readonly url: string;
  readonly admin: string;
  route(path: string): string;
  readonly process: Running;
  /** Standalone: the configuration file is written anew, as for a reload. */
  rewrite?(wish: Wish): void;
  stop(): Promise<void>;
}

export interface Cluster {
  readonly gateways: readonly Lockkeeper[];
  readonly poolManagers: readonly Running[];
  /** Ends one as an operator does and starts another in its place, a gateway at the same port. The lists change. */
  restart(service: 'gateway' | 'pool-manager', index: number): Promise<void>;
  stop(): Promise<void>;
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SECRET = 'a-link-secret-for-tests-of-at-least-32-bytes';

const LOOPBACK = { plain: true, cidrs: ['127.0.0.0/8', '::1/128'] };

function upstreamOf({ http, command, args, env }: ServerWish): Json {
  if (http) return { http: { ...LOOPBACK, ...http } };
  return { stdio: { command: command ?? process.execPath, args: args ?? [], env: { ...env }, cwd: ROOT } };
}

function configOf(wish: Wish, listen: Json, publicBaseUrl: string): Json {
  const servers = wish.servers.map((server) => ({
    name: server.name,
    tenant: server.tenant ?? 'acme',
    ...upstreamOf(server),
    isolation: server.isolation ?? 'user',
    ...server.more,
  }));
  const routes = wish.routes ?? [
    ...servers.map(({ tenant, name }) => ({ path: `/${tenant}/${name}/mcp`, tenant, server: name })),
    {
      path: '/acme/mcp',
      tenant: 'acme',
      servers: servers.filter(({ tenant }) => tenant === 'acme').map(({ name }) => name),
    },
  ];
  return {
    listen,
    publicBaseUrl,
    state: 'memory',
    auth: wish.auth ?? { mode: 'open' },
    tenants: (wish.tenants ?? ['acme']).map((name) => ({ name })),
    servers,
    ...(wish.policy && { policy: wish.policy }),
    routes,
    // Nothing balances load in front of a test, and its machine may be busy with others.
    limits: { drainLeadMs: 0, drainMs: 5_000, drainHumanMs: 5_000, aggregateWaitMs: 15_000, ...wish.limits },
    ...wish.more,
  };
}

function writeConfig(config: Json): { file: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-config-'));
  const file = join(folder, 'lockkeeper.yaml');
  writeFileSync(file, JSON.stringify(config, null, 2));
  return { file, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

async function startService(service: string, file: string, wish: Wish): Promise<Running> {
  return startProcess({
    args: [...(wish.nodeArgs ?? []), join(ROOT, `services/${service}/src/main.ts`), '--config', file],
    cwd: ROOT,
    ...(wish.env && { env: wish.env }),
  });
}

function handleOf(running: Running, end: () => Promise<void>): Lockkeeper {
  const url = String(running.ready.url).replace(/\/$/, '');
  return {
    url,
    admin: String(running.ready.admin).replace(/\/$/, ''),
    route: (path) => `${url}${path}`,
    process: running,
    stop: end,
  };
}

export async function startStandalone(wish: Wish): Promise<Lockkeeper> {
  // Known beforehand: tokens carry the route's URL as their audience.
  const port = await freePort();
  const listen = { host: '127.0.0.1', port, adminPort: 0, ...wish.listen };
  const { file, remove } = writeConfig(configOf(wish, listen, `http://127.0.0.1:${port}`));
  try {
    const running = await startService('standalone', file, wish);
    const handle = handleOf(running, async () => {
      try {
        await running.stop();
      } finally {
        remove();
      }
    });
    const rewrite = (next: Wish) => {
      writeFileSync(file, JSON.stringify(configOf(next, listen, `http://127.0.0.1:${port}`), null, 2));
    };
    return { ...handle, rewrite };
  } catch (error) {
    remove();
    throw error;
  }
}

export interface ClusterWish extends Wish {
  readonly gateways: number;
  readonly poolManagers: number;
  /** redis://… */
  readonly redis: string;
  /** The public base URL of all replicas; default the first gateway's own. */
  readonly publicBaseUrl?: string;
}

/** Those that could be started are in the list, and will be ended, when one could not. */
async function allInto<T>(list: T[], starting: readonly Promise<T>[]): Promise<void> {
  const results = await Promise.allSettled(starting);
  for (const result of results) if (result.status === 'fulfilled') list.push(result.value);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Pool managers first, then gateways, each with a file of its own: only ports differ. */
export async function startCluster(wish: ClusterWish): Promise<Cluster> {
  const ports = await Promise.all(Array.from({ length: wish.gateways }, freePort));
  const publicBaseUrl = wish.publicBaseUrl ?? `http://127.0.0.1:${ports[0]}`;
  const removals: (() => void)[] = [];
  const poolManagers: Running[] = [];
  const gateways: Lockkeeper[] = [];
  const configFor = (port: number) => {
    const listen = { host: '127.0.0.1', port, adminPort: 0, allowedHosts: ports.map((each) => `127.0.0.1:${each}`) };
    const shared = { state: wish.redis, link: { host: '127.0.0.1', port: 0, adminPort: 0, secret: SECRET } };
    const more = { ...shared, ...wish.more };
    const { file, remove } = writeConfig(configOf({ ...wish, more }, listen, publicBaseUrl));
    removals.push(remove);
    return file;
  };
  const stop = async () => {
    // Gateways first: a pool manager that goes while calls run would only make noise.
    const running = [...gateways.map((gateway) => gateway.process), ...poolManagers];
    const results = await Promise.allSettled(running.map((one) => one.stop()));
    for (const remove of removals) remove();
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  };
  try {
    const nodeFiles = Array.from({ length: wish.poolManagers }, () => configFor(0));
    await allInto(
      poolManagers,
      nodeFiles.map((file) => startService('pool-manager', file, wish)),
    );
    const files = ports.map(configFor);
    const startGateway = async (file: string) => {
      const running = await startService('gateway', file, wish);
      return handleOf(running, () => running.stop());
    };
    await allInto(gateways, files.map(startGateway));
    const restart: Cluster['restart'] = async (service, index) => {
      if (service === 'gateway') {
        await gateways[index]!.stop();
        gateways[index] = await startGateway(files[index]!);
      } else {
        await poolManagers[index]!.stop();
        poolManagers[index] = await startService('pool-manager', nodeFiles[index]!, wish);
      }
    };
    return { gateways, poolManagers, restart, stop };
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  }
}

/** Waits until a route answers a first list, so that a cold start is not what a test measures. */
export async function warm(attempt: () => Promise<unknown>): Promise<void> {
  await eventually(attempt, { deadlineMs: 20_000, everyMs: 100 });
}
