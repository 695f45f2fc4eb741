// A scripted server in place of a child, and what the room's tests build from it. Everything between the wire and the
// caller is the real thing.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import { type Clock, systemClock } from '@lockkeeper/state/clock';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import type { Child, ChildEvents, ExitReason, Spawn } from '../../src/child/contract.ts';
import { type ConnectorDeps, createConnector } from '../../src/raise/connector.ts';
import type { FaultHead, Log, ResultHead, UpstreamReply } from '../../src/raise/contract.ts';

export interface Sent {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Record<string, unknown> & { readonly _meta?: Record<string, unknown> };
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** One process. `script` sees each message that is written to it. */
export class FakeChild implements Child {
  readonly pid = 1;
  readonly startedAt = 0;
  readonly received: Sent[] = [];
  readonly raw: string[] = [];
  exited: ExitReason | null = null;
  full = false;
  private readonly events: ChildEvents;
  private readonly script: (message: Sent, child: FakeChild) => void;

  constructor(events: ChildEvents, script: (message: Sent, child: FakeChild) => void) {
    this.events = events;
    this.script = script;
  }

  send(message: Uint8Array): boolean {
    if (this.full) return false;
    const text = Buffer.from(message).toString();
    this.raw.push(text);
    const parsed = JSON.parse(text) as Sent;
    this.received.push(parsed);
    queueMicrotask(() => {
      if (this.exited === null) this.script(parsed, this);
    });
    return true;
  }

  write(value: unknown): void {
    this.line(typeof value === 'string' ? value : JSON.stringify(value));
  }

  line(text: string): void {
    if (this.exited === null) this.events.line(Buffer.from(text));
  }

  fault(kind: 'line-too-long' | 'not-json' | 'not-utf8', id: string | null = null): void {
    this.events.fault(kind, 'detail', id);
  }

  exit(words = 'exited with code 1', kind: ExitReason['kind'] = 'exited'): void {
    if (this.exited !== null) return;
    this.exited = { kind, code: kind === 'exited' ? 1 : null, signal: null, words };
    this.events.exit(this.exited);
  }

  takes(): boolean {
    return true;
  }

  pause(): void {}
  resume(): void {}
  stderrTail(): string {
    return 'the tail of stderr';
  }

  async stop(): Promise<void> {
    this.exit('stopped', 'stopped');
  }

  methods(): string[] {
    return this.received.map((m) => m.method ?? 'response');
  }
}

export type Script = (message: Sent, child: FakeChild) => void;

/** Answers of a legacy server; `more` is asked first and says true when it has dealt with the message. */
export function legacyServer(
  more: (message: Sent, child: FakeChild) => boolean = () => false,
  init: Record<string, unknown> = {},
): Script {
  return (message, child) => {
    if (more(message, child)) return;
    if (message.id === undefined || message.method === undefined) return;
    if (message.method === 'initialize') {
      child.write({
        jsonrpc: '2.0',
        id: message.id,
        result: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} },
          serverInfo: { name: 'fake', version: '1' },
          ...init,
        },
      });
    } else if (message.method === 'server/discover') fail(child, message, -32601, 'Method not found');
    else if (message.method === 'logging/setLevel') child.write({ jsonrpc: '2.0', id: message.id, result: {} });
    else fail(child, message, -32601, 'Method not found');
  };
}

export const MODERN_DISCOVER = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} },
  ttlMs: 0,
  cacheScope: 'public',
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'fake', version: '1' } },
};

export function modernServer(more: (message: Sent, child: FakeChild) => boolean = () => false): Script {
  return (message, child) => {
    if (more(message, child)) return;
    if (message.id === undefined || message.method === undefined) return;
    if (message.method === 'server/discover') ok(child, message, MODERN_DISCOVER);
    else fail(child, message, -32601, 'Method not found');
  };
}

export function ok(child: FakeChild, message: Sent, result: unknown): void {
  child.write({ jsonrpc: '2.0', id: message.id, result });
}

export function fail(child: FakeChild, message: Sent, code: number, words: string, data?: unknown): void {
  const error = { code, message: words, ...(data === undefined ? {} : { data }) };
  child.write({ jsonrpc: '2.0', id: message.id, error });
}

/** Each spawn gets the next script; the last one serves for ever. */
export function spawner(...scripts: Script[]): { spawn: Spawn; children: FakeChild[] } {
  const children: FakeChild[] = [];
  const spawn: Spawn = (_spec, events) => {
    const script = scripts[Math.min(children.length, scripts.length - 1)]!;
    const child = new FakeChild(events, script);
    children.push(child);
    return child;
  };
  return { spawn, children };
}

export function specOf(more: Partial<ServerSpec> = {}): ServerSpec {
  return {
    name: 'fake',
    tenant: 'acme',
    stdio: { command: 'node', args: [], env: {}, cwd: '/' },
    isolation: 'user',
    keepsNothing: false,
    ask: { roots: 'caller', sampling: 'caller', elicitation: 'caller' },
    pool: { max: 8, minWarm: 0, idleMs: 60_000, maxAgeMs: 3_600_000, maxUses: 1_000 },
    era: 'auto',
    startTimeoutMs: 2_000,
    callTimeoutMs: 5_000,
    digest: 'd1',
    ...more,
  };
}

export interface Noted extends Log {
  readonly lines: { readonly fields: Record<string, unknown>; readonly words: string }[];
}

export function notedLog(): Noted {
  const lines: { fields: Record<string, unknown>; words: string }[] = [];
  const note = (fields: object, words: string) => void lines.push({ fields: fields as Record<string, unknown>, words });
  return { lines, debug: () => {}, info: note, warn: note };
}

export const CLIENT_INFO = { name: 'lockkeeper', version: '0.1.0' };

/** Real timers, a time of day that stands still until it is told to go on. */
export function clockAt(start: number): { now: number; readonly clock: Clock } {
  const time = { now: start, clock: { now: () => time.now, setTimer: systemClock.setTimer } };
  return time;
}

export function memoryStore() {
  return createMemoryStore({ clock: systemClock, warn: () => {} });
}

let tokens = 0;

export function connectorOf(more: Partial<ConnectorDeps> & Pick<ConnectorDeps, 'spawn'>) {
  return createConnector({
    store: memoryStore(),
    clock: systemClock,
    log: notedLog(),
    clientInfo: CLIENT_INFO,
    token: () => `token-${tokens++}`,
    limits: () => ({ maxResultBytes: 1_000_000, listTtlMs: 1234 }),
    ...more,
    timings: { probeMs: 300, spareMs: 200, pollMs: 5, backoffMs: 20, maxBackoffMs: 50, ...more.timings },
  });
}

export const ALICE = { tenant: 'acme', issuer: 'https://idp.example', subject: 'alice', client: 'editor' };
export const BOB = { ...ALICE, subject: 'bob' };

let xids = 0;

export function openOf(method: string, more: Partial<Open> = {}): Open {
  return {
    kind: 'open',
    stream: 1,
    xid: `x${xids++}`,
    method,
    server: 'fake',
    digest: 'd1',
    principal: ALICE,
    session: null,
    capabilities: {},
    downstreamEra: 'modern',
    progress: false,
    deadlineMs: 5_000,
    onVanish: 'cancel',
    ...more,
  };
}

/** What came of one call. */
export interface Ended {
  readonly events: { readonly method: string; readonly members: Record<string, unknown> }[];
  readonly started: boolean;
  readonly result?: ResultHead;
  readonly text?: string;
  readonly value?: Record<string, unknown>;
  readonly fault?: FaultHead;
}

export function collect(): { reply: UpstreamReply; ended: Promise<Ended>; events: Ended['events'] } {
  const events: { method: string; members: Record<string, unknown> }[] = [];
  const { promise, resolve } = Promise.withResolvers<Ended>();
  let started = false;
  const value = (members: Uint8Array) => JSON.parse(`{${Buffer.from(members).toString()}}`) as Record<string, unknown>;
  const reply: UpstreamReply = {
    started: () => {
      started = true;
    },
    event: (method, members) => void events.push({ method, members: value(members) }),
    result: (result, members) =>
      resolve({ events, started, result, text: Buffer.from(members).toString(), value: value(members) }),
    fault: (fault) => resolve({ events, started, fault }),
  };
  return { reply, ended: promise, events };
}

export const NEVER = new AbortController().signal;

export function bytes(text: string): Uint8Array {
  return Buffer.from(text);
}
