// Between the link's server and what it serves (design §4). The link owns sockets, credit, sequence and peers; the
// dispatcher owns everything that means something.

import type { Cancel, Fault, Listen, Notify, Open, Result } from '@lockkeeper/protocol/link/frames';

export interface StreamReply {
  /** Before the first byte goes upstream. Idempotent. */
  started(): void;
  accepted(): void;
  /** `seq`: its number in the exchange, where a joiner must be told; without it the next one of this stream. */
  event(method: string, members: Uint8Array, seq?: number): void;
  /** Exactly one of result and fault ends the stream; later calls are ignored. */
  result(head: Omit<Result, 'kind' | 'stream' | 'seq'>, members: Uint8Array): void;
  fault(head: Omit<Fault, 'kind' | 'stream' | 'seq'>): void;
  /** Bytes handed over and not yet taken by the gateway: the exchange's own back-pressure (design §5). */
  queuedBytes(): number;
  /** A legacy server made a task of the call (2025-11-25): its result may take long. Whoever does not care waits. */
  tasked?(upstream: TaskedUpstream): void;
}

/** What a legacy server said of a task it made. */
export interface TaskedUpstream {
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number | null;
  readonly statusMessage?: string;
}

export interface OpenStream {
  /** The gateway closed the stream (`close`: the client left) or its connection broke (`break`). */
  vanished(how: 'close' | 'break'): void;
  /** It became a task: from now on it has this long to end, whatever time a call has. */
  prolong?(ms: number): void;
}

export interface Dispatcher {
  open(head: Open, body: Uint8Array, reply: StreamReply): OpenStream;
  cancel(head: Cancel): void;
  listen(head: Listen, reply: StreamReply): OpenStream;
  notify(head: Notify): void;
}

/** Whether this node may serve an owner key now (design §4 "Who owns a pool key"). */
export interface Ownership {
  /** `held`: serve. `moved`: another live node has it. `unreachable`: the store cannot tell (rules per isolation). */
  claim(
    tenant: string,
    owner: string,
  ): Promise<{ kind: 'held' } | { kind: 'moved'; node: string } | { kind: 'unreachable' }>;
  release(tenant: string, owner: string): Promise<void>;
  readonly incarnation: string;
}
