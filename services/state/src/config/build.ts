// From the validated shape to the snapshot that all services read: names looked up, paths absolute, everything frozen.

import {
  type AuthSettings,
  type HttpSpec,
  type IssuerSettings,
  type RouteSettings,
  type ServerSpec,
  type Snapshot,
  serverId,
} from '@lockkeeper/protocol/config/settings';
import type { Digester } from './digest.ts';
import type { ConfigShape, IssuerShape, ServerShape } from './shape.ts';

export interface BuildDeps {
  readonly digester: Digester;
  readonly absolute: (path: string) => string;
}

export function buildSnapshot(shape: ConfigShape, { digester, absolute }: BuildDeps): Snapshot {
  const credentials = new Map(shape.tenants.map((tenant) => [tenant.name, tenant.credentials ?? {}]));
  const servers = shape.servers.map((server, i) => {
    const http = server.http && httpSpec(server.http, credentials.get(server.tenant) ?? {});
    return serverSpec({ ...server, ...(http && { http }) }, i, { digester, absolute });
  });
  const { seal, link } = shape;
  return freeze({
    version: digester.of(shape, []).slice(0, 16),
    listen: shape.listen,
    publicBaseUrl: (shape.publicBaseUrl ?? defaultBaseUrl(shape.listen)).replace(/\/+$/, ''),
    state: shape.state === 'memory' ? { kind: 'memory' } : { kind: 'redis', url: shape.state },
    auth: authSettings(shape.auth, absolute),
    tenants: new Map(shape.tenants.map((tenant) => [tenant.name, freeze({ name: tenant.name })])),
    servers: new Map(servers.map((server) => [serverId(server.tenant, server.name), freeze(server)])),
    policy: shape.policy.map((rule, i) => ({ ...rule, name: rule.name ?? `policy[${i}]` })),
    routes: shape.routes.map(routeSettings),
    // What was asked in the last moment before the end has its whole time, too.
    limits: { ...shape.limits, drainHumanMs: shape.limits.drainHumanMs ?? shape.limits.humanMs + shape.limits.drainMs },
    link: link.socketDir === undefined ? link : { ...link, socketDir: absolute(link.socketDir) },
    ...(seal === undefined ? {} : { seal }),
    log: shape.log,
    children: shape.children,
  });
}

function defaultBaseUrl({ host, port }: ConfigShape['listen']): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function serverSpec(server: ServerShape, index: number, { digester, absolute }: BuildDeps): ServerSpec {
  const shared = server.isolation === 'shared';
  const ask = {
    roots: shared ? 'never' : (server.ask?.roots ?? 'caller'),
    sampling: shared ? 'never' : (server.ask?.sampling ?? 'caller'),
    elicitation: shared ? 'never' : (server.ask?.elicitation ?? 'caller'),
  } as const;
  const spec = { ...server, ask };
  // Before the working directory is made absolute: services may have the file in different places.
  const digest = digester.of(spec, ['servers', index]);
  const { stdio } = server;
  return {
    ...spec,
    ...(stdio && { stdio: { ...stdio, cwd: stdio.cwd === PRIVATE_DIRECTORY ? stdio.cwd : absolute(stdio.cwd) } }),
    digest,
  };
}

/** Made for each process, and taken away with it. */
const PRIVATE_DIRECTORY = '~';

/** With the headers of its credential: a changed credential changes the digest too. */
function httpSpec(
  { credential, ...http }: NonNullable<ServerShape['http']>,
  credentials: Readonly<Record<string, Readonly<Record<string, string>>>>,
): HttpSpec {
  const all = { ...http.headers, ...(credential === undefined ? {} : credentials[credential]) };
  const headers = Object.fromEntries(Object.entries(all).map(([name, value]) => [name.toLowerCase(), value]));
  // Of a part that nobody reads it may be a reference that stands for nothing here (load.ts `loadPart`).
  const url = URL.canParse(http.url) ? new URL(http.url).href : http.url;
  return { ...http, url, headers };
}

function authSettings({ mode, issuers }: ConfigShape['auth'], absolute: BuildDeps['absolute']): AuthSettings {
  if (mode === 'open') return { mode };
  return { mode, issuers: (issuers ?? []).map((issuer) => issuerSettings(issuer, absolute)) };
}

function issuerSettings(shape: IssuerShape, absolute: BuildDeps['absolute']): IssuerSettings {
  const { jwksFile, jwksUri, claims, ...rest } = shape;
  return {
    ...rest,
    jwks: jwksUri === undefined ? { file: absolute(jwksFile ?? '') } : { uri: jwksUri },
    // Without a tenant claim nothing is read: the issuer names exactly one tenant then.
    claims: { ...claims, tenant: claims.tenant ?? '' },
  };
}

function routeSettings(route: ConfigShape['routes'][number]): RouteSettings {
  const { server, servers, revisions, sse, path, tenant, closeStreamsAfterMs } = route;
  const { tasks, legacyTasks, promoteAfterMs } = route;
  return {
    path,
    tenant,
    servers: server === undefined ? (servers ?? []) : [server],
    aggregate: server === undefined,
    revisions,
    sse: sse && revisions.includes('2024-11-05'),
    closeStreamsAfterMs,
    tasks,
    legacyTasks,
    ...(promoteAfterMs === undefined ? {} : { promoteAfterMs }),
  };
}

/** All the way down. Maps have no way to be frozen; their type is read-only. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || value instanceof Map || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) freeze(inner);
  return Object.freeze(value);
}
