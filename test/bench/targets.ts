// Everything the bench compares, each a process (or several) of its own: the bare origin, Lockkeeper as gateway and pool
// manager with tokens, policy and header checks on, and two published bridges with the same child behind them.

import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createIssuer } from '../harness/issuer.ts';
import { startCluster } from '../harness/lockkeeper.ts';
import { callLegacy, openLegacySession } from '../harness/messages.ts';
import { freePort } from '../harness/ports.ts';
import { type Running, startProcess } from '../harness/process.ts';
import { startRedis } from '../harness/redis.ts';
import type { LoadWish } from './wishes.ts';

export interface Target {
  readonly name: string;
  /** Processes whose CPU and memory are its own (the child and the client are nobody's). */
  readonly services: readonly { readonly name: string; readonly pid: number }[];
  readonly request: Pick<LoadWish, 'url' | 'headers' | 'each' | 'meta' | 'tool'>;
  /** Largest payload it is asked for; bridges that take minutes or refuse are spared. */
  readonly maxPayload: number;
  stop(): Promise<void>;
}

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));
const CHILD = here('./echo-child.ts');
const BASIC = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const MIB = 1024 * 1024;

export async function startOrigin(): Promise<Target> {
  const running = await startProcess({ args: [here('./origin.ts')] });
  return {
    name: 'fastify echo',
    services: [{ name: 'echo', pid: running.pid }],
    request: { url: `${running.ready.url}/mcp`, headers: BASIC, meta: null, tool: 'echo' },
    maxPayload: 16 * MIB,
    stop: running.stop,
  };
}

export interface Measured extends Target {
  /** The same, but served by a second child: for small calls beside a flood. */
  readonly other: Target['request'];
}

/** What services are run with, here as everywhere. */
const NODE_OPTIONS = JSON.parse(readFileSync(here('../../ops/node-options.json'), 'utf8')) as readonly string[];

/** On one host, as here, the services meet on unix sockets (design §11); `tcp`: as across hosts. */
export async function startLockkeeper(
  nodeArgs: readonly string[] = NODE_OPTIONS,
  join: 'socket' | 'tcp' = 'socket',
): Promise<Measured> {
  const redis = await startRedis();
  const issuer = createIssuer();
  const socketDir = mkdtempSync(path.join(tmpdir(), 'lk-bench-'));
  const link = join === 'socket' ? { socketDir } : { host: '127.0.0.1', port: 0 };
  const servers = ['echo', 'other'].map((name) => ({
    name,
    args: [CHILD],
    isolation: 'shared' as const,
    more: { pool: { max: 1, minWarm: 0, idleMs: 300_000 } },
  }));
  const allow = servers.map(({ name }) => ({ server: name, tools: ['*'], prompts: ['*'], resources: ['*'] }));
  const cluster = await startCluster({
    gateways: 1,
    poolManagers: 1,
    redis: redis.url,
    servers,
    nodeArgs,
    auth: { mode: 'jwt', issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] }] },
    policy: [{ tenant: 'acme', groups: ['dev'], allow }],
    limits: { maxInFlightPerPrincipal: 2048 },
    more: { link: { ...link, adminPort: 0, secret: randomBytes(32).toString('base64url') } },
  });
  const gateway = cluster.gateways[0]!;
  const requestFor = (server: string): Target['request'] => {
    const url = gateway.route(`/acme/${server}/mcp`);
    const token = issuer.token({ audience: url, ttlSeconds: 3_600 });
    return {
      url,
      tool: 'echo',
      headers: {
        ...BASIC,
        authorization: `Bearer ${token}`,
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'echo',
      },
      meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
        'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
      },
    };
  };
  return {
    name: 'lockkeeper',
    services: [
      { name: 'gateway', pid: gateway.process.pid },
      { name: 'pool manager', pid: cluster.poolManagers[0]!.pid },
    ],
    request: requestFor('echo'),
    other: requestFor('other'),
    maxPayload: 16 * MIB,
    stop: async () => {
      try {
        await cluster.stop();
      } finally {
        issuer.close();
        rmSync(socketDir, { recursive: true, force: true });
        await redis.stop();
      }
    },
  };
}

/** With one session all connections share it; else they take turns at so many, as clients that are each one's own. */
async function bridge(
  name: string,
  start: (port: number) => readonly string[],
  maxPayload: number,
  sessions = 1,
): Promise<Target> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const message = { jsonrpc: '2.0', id: 0, method: 'ping' };
  const running: Running = await startProcess({
    args: start(port),
    readyMs: 30_000,
    readyWhen: () => callLegacy(url, { message }),
  });
  const each: Record<string, string>[] = [];
  let revision = '';
  for (let i = 0; i < sessions; i++) {
    const { session, result } = await openLegacySession(url, { revision: '2025-06-18' });
    if (!result) throw new Error(`${name} did not initialize\n${running.logs()}`);
    revision = String(result.protocolVersion);
    each.push(session === null ? {} : { 'mcp-session-id': session });
  }
  return {
    name,
    services: [{ name, pid: running.pid }],
    request: {
      url,
      tool: 'echo',
      meta: null,
      each,
      headers: {
        ...BASIC,
        'mcp-protocol-version': revision,
      },
    },
    maxPayload,
    // Some leave their child behind when ended, which is theirs to answer for, not ours to fail on.
    stop: () => running.stop().catch(() => {}),
  };
}

/** All its sessions have one child behind them, so it is also measured with a session for each caller, as it is used. */
export function startMcpProxy(sessions = 1): Promise<Target> {
  const program = here('../../node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs');
  const child = ['--', process.execPath, CHILD];
  const args = (port: number) => [
    program,
    '--port',
    String(port),
    '--host',
    '127.0.0.1',
    '--server',
    'stream',
    ...child,
  ];
  const name = sessions === 1 ? 'mcp-proxy 6.7' : 'mcp-proxy, a session each';
  return bridge(name, args, sessions === 1 ? MIB : 200, sessions);
}

export function startSupergateway(): Promise<Target> {
  const program = here('../../node_modules/supergateway/dist/index.js');
  const args = (port: number) => [
    program,
    '--stdio',
    `${process.execPath} ${CHILD}`,
    '--outputTransport',
    'streamableHttp',
    '--stateful',
    '--logLevel',
    'none',
    '--port',
    String(port),
  ];
  return bridge('supergateway 4', args, 100 * 1024);
}
