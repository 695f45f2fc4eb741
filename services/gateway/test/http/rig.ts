// A gateway rim on a free port with a fake middle: tests say what the answer is and look at the bytes on the socket.

import { connect, type Socket } from 'node:net';
import type { Limits, RouteSettings, Snapshot } from '@lockkeeper/protocol/config/settings';
import { systemClock } from '@lockkeeper/state/clock';
import type { Answer, AnswerFn, AnswerListener, Ask, Exchange } from '../../src/exchange.ts';
import type { HttpOut, LegacyBody, LegacyLeg } from '../../src/http/contract.ts';
import { createGatewayHttp } from '../../src/http/gateway.ts';
import type { AuditRow } from '../../src/observe/audit.ts';
import type { Log, LogFields } from '../../src/observe/logger.ts';
import { createMetrics, type Metrics } from '../../src/observe/metrics.ts';

export interface Rig {
  readonly port: number;
  readonly seen: { readonly exchange: Exchange; readonly ask: Ask }[];
  readonly legacy: { readonly what: string; readonly body?: LegacyBody; readonly sessionId?: string }[];
  readonly audit: AuditRow[];
  readonly logged: { readonly event: string; readonly fields: LogFields }[];
  readonly metrics: Metrics;
  snapshot: Snapshot;
  answer: AnswerFn;
  close(drainMs?: number, leadMs?: number): Promise<void>;
}

const encoder = new TextEncoder();

export function okAnswer(members = '"tools":[]', meta?: string): Answer {
  return {
    kind: 'result',
    resultType: 'complete',
    members: encoder.encode(members),
    ...(meta === undefined ? {} : { meta }),
  };
}

export function refusalAnswer(refusal: Extract<Answer, { kind: 'refusal' }>['refusal']): Answer {
  return { kind: 'refusal', refusal };
}

export const bytes = (text: string): Uint8Array => encoder.encode(text);

export function routeOf(path: string, change: Partial<RouteSettings> = {}): RouteSettings {
  const revisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
  return {
    ...{
      path,
      tenant: 'acme',
      servers: ['everything'],
      aggregate: false,
      revisions,
      sse: true,
      closeStreamsAfterMs: 0,
      tasks: true,
      legacyTasks: false,
    },
    ...change,
  };
}

const LIMITS: Limits = {
  maxBodyBytes: 64 * 1024,
  maxLineBytes: 1 << 20,
  maxResultBytes: 1 << 20,
  drainHumanMs: 60_000,
  maxLinesPerSecond: 50_000,
  maxBytesPerSecond: 512 * 1024 * 1024,
  maxBatch: 4,
  maxDepth: 16,
  maxPerServer: 8,
  maxPerTenant: 8,
  maxPerNode: 8,
  maxSessionsPerPrincipal: 8,
  sessionIdleMs: 1000,
  sessionMaxMs: 1000,
  queueMs: 1000,
  maxQueue: 8,
  keepAliveMs: 60_000,
  holdMs: 60_000,
  maxInFlightPerPrincipal: 8,
  pageSize: 100,
  listTtlMs: 0,
  aggregateWaitMs: 1000,
  promoteAfterMs: 30_000,
  taskTtlMs: 3_600_000,
  drainMs: 1000,
  drainLeadMs: 0,
  humanMs: 600_000,
  maxParkedPerPrincipal: 100,
  maxParkedPerServer: 1000,
};

export interface SnapshotChange {
  readonly limits?: Partial<Limits>;
  readonly listen?: Partial<Snapshot['listen']>;
  readonly auth?: Snapshot['auth'];
  readonly routes?: readonly RouteSettings[];
  readonly publicBaseUrl?: string;
}

export function snapshotOf(change: SnapshotChange = {}): Snapshot {
  const listen = { host: '127.0.0.1', port: 0, adminHost: '127.0.0.1', adminPort: 0, trustProxy: false };
  return {
    version: '1',
    listen: { ...listen, allowedHosts: [], allowedOrigins: ['https://app.example.com'], ...change.listen },
    publicBaseUrl: change.publicBaseUrl ?? 'https://gw.example',
    state: { kind: 'memory' },
    auth: change.auth ?? { mode: 'open' },
    tenants: new Map([['acme', { name: 'acme' }]]),
    servers: new Map(),
    policy: [],
    routes: change.routes ?? [
      routeOf('/acme/everything/mcp'),
      routeOf('/acme/modern/mcp', { revisions: [], sse: false }),
    ],
    limits: { ...LIMITS, ...change.limits },
    link: { host: '127.0.0.1', port: 0, adminPort: 0 },
    log: { level: 'info' },
    children: { cgroup: 'off' },
  };
}

export async function startRig(change: SnapshotChange = {}): Promise<Rig> {
  const seen: Rig['seen'] = [];
  const legacy: Rig['legacy'] = [];
  const audit: AuditRow[] = [];
  const logged: Rig['logged'] = [];
  const metrics = createMetrics({ processMetrics: false });
  const held = { snapshot: snapshotOf(change), answer: (async () => okAnswer()) as AnswerFn };
  const server = createGatewayHttp({
    config: { current: () => held.snapshot, onChange: () => () => undefined },
    answer: (exchange: Exchange, ask: Ask, listener: AnswerListener) => {
      seen.push({ exchange, ask });
      return held.answer(exchange, ask, listener);
    },
    legacy: () => fakeLegacy(legacy),
    serverInfo: { name: 'lockkeeper', version: '0.1.0' },
    clock: systemClock,
    log: recordingLog(logged),
    metrics,
    writeAudit: (row) => audit.push(row),
    forgetting: { add: () => undefined },
  });
  const port = await server.listen();
  return {
    port,
    seen,
    legacy,
    audit,
    logged,
    metrics,
    get snapshot() {
      return held.snapshot;
    },
    set snapshot(next) {
      held.snapshot = next;
    },
    get answer() {
      return held.answer;
    },
    set answer(next) {
      held.answer = next;
    },
    close: (drainMs = 0, leadMs = 0) => server.close(drainMs, leadMs),
  };
}

export function recordingLog(into: Rig['logged']): Log {
  const write = (event: string, fields: LogFields = {}) => {
    into.push({ event, fields });
  };
  return { debug: write, info: write, warn: write, error: write };
}

function fakeLegacy(calls: Rig['legacy']): LegacyLeg {
  const take = (what: string, out: HttpOut, more: object = {}) => {
    calls.push({ what, ...more });
    out.json(200, `{"leg":"legacy","what":"${what}"}`);
    return Promise.resolve();
  };
  return {
    post: (_ticket, _headers, body, out) => take('post', out, { body }),
    get: (_ticket, _headers, out) => take('get', out),
    delete: (_ticket, _headers, out) => take('delete', out),
    sseOpen: (_ticket, _headers, out) => take('sseOpen', out),
    ssePost: (_ticket, sessionId, body, out) => take('ssePost', out, { sessionId, body }),
    // Sessions here are called by what they have agreed on.
    revisionOf: (_ticket, headers) => {
      const session = String(headers['mcp-session-id']);
      return Promise.resolve(/^\d{4}-/.test(session) ? session : null);
    },
    close: () => Promise.resolve(),
  };
}

export interface Reply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  readonly raw: string;
}

/** One request on a socket of its own; `lines` are header lines as they go out. */
export async function send(
  port: number,
  start: string,
  lines: readonly string[],
  body?: string | Buffer,
): Promise<Reply> {
  const socket = openSocket(port);
  socket.write(headOf(start, lines, body));
  if (body !== undefined) socket.write(body);
  return readReply(socket);
}

export function openSocket(port: number): Socket {
  return connect({ host: '127.0.0.1', port })
    .setNoDelay(true)
    .on('error', () => undefined);
}

export function headOf(start: string, lines: readonly string[], body?: string | Buffer): string {
  const has = (name: string) => lines.some((l) => l.toLowerCase().startsWith(`${name}:`));
  const all = [...lines];
  if (!has('host')) all.push('Host: 127.0.0.1');
  if (!has('connection')) all.push('Connection: close');
  if (body !== undefined && !has('content-length') && !has('transfer-encoding')) {
    all.push(`Content-Length: ${Buffer.byteLength(body)}`);
  }
  return `${start} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`;
}

export async function readReply(socket: Socket): Promise<Reply> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return parseReply(Buffer.concat(chunks).toString('utf8'));
}

export function parseReply(raw: string): Reply {
  const split = raw.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = raw.slice(0, split).split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const body = raw.slice(split + 4);
  const whole = headers.get('transfer-encoding') === 'chunked' ? unchunk(body) : body;
  return { status: Number(statusLine.split(' ')[1]), headers, body: whole, raw };
}

function unchunk(body: string): string {
  const data = Buffer.from(body);
  let out = '';
  let at = 0;
  for (;;) {
    const lineEnd = data.indexOf('\r\n', at);
    const size = Number.parseInt(data.subarray(at, lineEnd).toString(), 16);
    if (lineEnd === -1 || !(size > 0)) return out;
    out += data.subarray(lineEnd + 2, lineEnd + 2 + size).toString();
    at = lineEnd + 2 + size + 2;
  }
}

export const PV = 'io.modelcontextprotocol/protocolVersion';
export const CC = 'io.modelcontextprotocol/clientCapabilities';

/** A well-formed modern request; `change` replaces header lines by name (null takes one out) and body parts. */
export interface ModernCall {
  readonly method?: string;
  readonly id?: unknown;
  readonly params?: Record<string, unknown>;
  readonly meta?: Record<string, unknown>;
  readonly headers?: Record<string, string | null>;
  readonly body?: string;
  readonly path?: string;
}

export function modernParts(call: ModernCall = {}): { start: string; lines: string[]; body: string } {
  const method = call.method ?? 'tools/list';
  const params = { _meta: { [PV]: '2026-07-28', [CC]: {}, ...call.meta }, ...call.params };
  const body = call.body ?? JSON.stringify({ jsonrpc: '2.0', id: call.id ?? 1, method, params });
  const headers: Record<string, string | null> = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': '2026-07-28',
    'Mcp-Method': method,
    ...call.headers,
  };
  const lines = Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return { start: `POST ${call.path ?? '/acme/everything/mcp'}`, lines, body };
}

export function sendModern(port: number, call: ModernCall = {}): Promise<Reply> {
  const { start, lines, body } = modernParts(call);
  return send(port, start, lines, body);
}

export function eventsOf(body: string): unknown[] {
  return body
    .split('\n\n')
    .filter((block) => block.startsWith('data: '))
    .map((block) => JSON.parse(block.slice('data: '.length)) as unknown);
}

export async function until(holds: () => boolean, deadlineMs = 5000): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!holds()) {
    if (performance.now() > end) throw new Error('it did not become so in time');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
