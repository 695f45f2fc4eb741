// What the parts of a remote upstream promise each other. A remote session is a `Child` like a process (its pid is
// undefined), so everything above it is the same; below it is the door, the one way out to a server by URL.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Child, ChildEvents } from '../child/contract.ts';

export interface RemoteRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Beside them go the static credentials, which none of these replaces. Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | readonly Uint8Array[];
  /** Ends the request, or the reading of its reply. */
  readonly signal: AbortSignal;
  /** Instead of the spec's. */
  readonly headersMs?: number;
  /** Instead of the spec's: a stream that waits for events may be silent for long. 0: no limit. */
  readonly idleStreamMs?: number;
  /** Another place at the same origin: the endpoint of HTTP+SSE. */
  readonly url?: string;
}

export interface RemoteResponse {
  readonly status: number;
  /** Lower-case names; those that mean something to one hop only are gone, cookies too. */
  readonly headers: ReadonlyMap<string, string>;
  /** Bounded by whoever reads. Throws RemoteError. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Nobody reads it (any more). Idempotent. */
  discard(): void;
}

export type RemoteFailure =
  | 'dns'
  | 'refused-address'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'reset'
  | 'redirect'
  /** Our own limit on connections stands against it: nothing is said of the server. */
  | 'full'
  /** By the request's own signal, or since the door was closed. */
  | 'aborted';

export class RemoteError extends Error {
  readonly kind: RemoteFailure;
  /** For people: names the host, never a secret. */
  readonly words: string;
  /** The server may have got it. */
  readonly sent: boolean;

  constructor(kind: RemoteFailure, words: string, sent: boolean) {
    super(words);
    this.name = 'RemoteError';
    this.kind = kind;
    this.words = words;
    this.sent = sent;
  }
}

export interface RemoteDoor {
  /** Throws RemoteError. */
  send(request: RemoteRequest): Promise<RemoteResponse>;
  /** Ends what runs over it. Idempotent. */
  close(): Promise<void>;
}

export interface RemoteDoors {
  /**
   * One door a configuration; with `session` a door of its own, whose requests share one connection where they can, for
   * stateful servers behind a load balancer. Who got it with `session` closes it.
   */
  doorOf(spec: ServerSpec, session?: string): RemoteDoor;
  close(): Promise<void>;
}

/** How a remote session is spoken to: the era is in it, since transports differ by era. */
export type Way = 'modern' | 'streamable' | 'sse';

/** Never throws: what fails is told by `exit`. */
export type RemoteSpawn = (spec: ServerSpec, events: ChildEvents, way: Way) => Child;
