// What the node itself asks of a server beside everybody's calls: subscriptions, the lists to compare, a modern
// server's listen. It holds no baton and is nobody's call, so it is in nobody's way and no question is taken for its.

import { copyOf } from '@lockkeeper/protocol/json/bytes';
import { findMember, type Member, membersOf, parseSpan, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import { SUBSCRIPTION_ID } from '@lockkeeper/protocol/mcp/meta';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Change } from './contract.ts';
import { readError } from './result/upstream-error.ts';
import { smallParams, type Wire } from './wire/wire.ts';

/** 26/subs SubscriptionFilter. */
export interface UpstreamFilter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
}

export type SideAnswer =
  /** A copy of the result's text. */
  | { readonly kind: 'result'; readonly bytes: Uint8Array }
  | { readonly kind: 'error'; readonly code: number; readonly message: string }
  /** No usable answer in time, or the process ended. */
  | { readonly kind: 'none' };

export interface UpstreamListener {
  acknowledged(honoured: UpstreamFilter): void;
  change(change: Change): void;
  /** By the server, or with its process; once, and not after `close`. `code`: of a JSON-RPC error. */
  ended(code: number | null): void;
}

export interface Side {
  /** `params`: members as JSON text. Never rejects. */
  ask(method: string, params: string, deadlineMs: number): Promise<SideAnswer>;
  /** Of a legacy server: what it says unasked. One listener; the last one counts. */
  onChange(listener: (change: Change) => void): void;
  /** Modern servers only. Null: the process takes no more. */
  listen(filter: UpstreamFilter, listener: UpstreamListener): { close(): void } | null;
}

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const CANCELLED = 'notifications/cancelled';

export class SideOfWire implements Side {
  private readonly wire: Wire;
  private readonly clock: Clock;
  /** `_meta` members of a request of our own; '' for a legacy server. */
  private readonly meta: string;
  private readonly open = new Map<string, UpstreamListener>();
  changed: (change: Change) => void = () => {};

  constructor(wire: Wire, clock: Clock, meta: string) {
    this.wire = wire;
    this.clock = clock;
    this.meta = meta;
  }

  onChange(listener: (change: Change) => void): void {
    this.changed = listener;
  }

  ask(method: string, params: string, deadlineMs: number): Promise<SideAnswer> {
    const { promise, resolve } = Promise.withResolvers<SideAnswer>();
    let timer: Timer | null = null;
    const settle = (answer: SideAnswer): void => {
      timer?.clear();
      resolve(answer);
    };
    const id = this.wire.request(method, () => this.meta, Buffer.from(params), {
      answered: (line, { result, error }) => {
        if (error !== undefined) settle({ kind: 'error', ...briefly(line, error) });
        else if (result?.kind !== 'object') settle({ kind: 'none' });
        else settle({ kind: 'result', bytes: copyOf(line.subarray(result.start, result.end)) });
      },
      spoiled: () => settle({ kind: 'none' }),
      lost: () => settle({ kind: 'none' }),
    });
    if (id === 0) return Promise.resolve({ kind: 'none' });
    timer = this.clock.setTimer(deadlineMs, () => {
      this.wire.abandon(id, null);
      resolve({ kind: 'none' });
    });
    return promise;
  }

  listen(filter: UpstreamFilter, listener: UpstreamListener): { close(): void } | null {
    const params = Buffer.from(`"notifications":${JSON.stringify(filter)}`);
    const end = (code: number | null): void => {
      if (this.open.delete(String(id))) listener.ended(code);
    };
    const id: number = this.wire.request('subscriptions/listen', () => this.meta, params, {
      answered: (line, { error }) => end(error === undefined ? null : briefly(line, error).code),
      spoiled: () => end(null),
      lost: () => end(null),
    });
    if (id === 0) return null;
    this.open.set(String(id), listener);
    return {
      close: () => {
        if (this.open.delete(String(id))) this.wire.abandon(id, 'no longer wanted');
      },
    };
  }

  /** Of a modern server. False: nothing that a listen is about. */
  takes(line: Uint8Array, method: string, params: Member | undefined, isChange: boolean): boolean {
    if (!isChange && method !== ACKNOWLEDGED && method !== CANCELLED) return false;
    const members = params?.kind === 'object' ? membersOf(line, params) : [];
    if (method === CANCELLED) {
      const id = idText(line, findMember(members, 'requestId'));
      const listener = id === null ? undefined : this.open.get(id);
      if (id === null || listener === undefined) return false;
      // The result may come too, or instead (protocol.md Part 7 #1); its waiter stays and finds nobody.
      this.open.delete(id);
      listener.ended(null);
      return true;
    }
    const meta = findMember(members, '_meta');
    const id = meta?.kind === 'object' ? idText(line, findMember(membersOf(line, meta), SUBSCRIPTION_ID)) : null;
    const listener = id === null ? undefined : this.open.get(id);
    // Not asked for, or of a listen that we have left: nobody's (GB-070).
    if (listener === undefined) this.wire.count(`${method} without a listen that is open`);
    else if (method === ACKNOWLEDGED) listener.acknowledged(filterOf(line, findMember(members, 'notifications')));
    else listener.change(changeOf(line, method, params));
    return true;
  }
}

export function changeOf(line: Uint8Array, method: string, params: Member | undefined): Change {
  const { uri } = smallParams(line, params);
  return typeof uri === 'string' ? { method, uri } : { method };
}

/** Servers answer with the id as they please, number or string (protocol.md Part 7 #11). */
function idText(line: Uint8Array, member: Member | undefined): string | null {
  if (member?.kind === 'string') return stringOf(line, member) ?? null;
  return member?.kind === 'number' ? textOf(line, member) : null;
}

function filterOf(line: Uint8Array, member: Member | undefined): UpstreamFilter {
  if (member?.kind !== 'object') return {};
  const value = parseSpan(line, member) as Record<string, unknown>;
  const uris = value.resourceSubscriptions;
  return {
    toolsListChanged: value.toolsListChanged === true,
    promptsListChanged: value.promptsListChanged === true,
    resourcesListChanged: value.resourcesListChanged === true,
    resourceSubscriptions: Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [],
  };
}

function briefly(line: Uint8Array, error: Member): { code: number; message: string } {
  const { code, message } = readError(line, error);
  return { code: code ?? 0, message };
}
