// What the rest of the gateway knows of the link (design §4).

import type { Fault, Listen, Notify, Open, Principal, Result } from '@lockkeeper/protocol/link/frames';
import type { Signal } from '../leaving.ts';

export interface LinkRequest extends Omit<Open, 'kind' | 'stream'> {
  /** `ownerKey` of protocol/link/keys.ts: decides which node. */
  readonly owner: string;
  /** On how many nodes the owner's work may be at once; absent: on one. */
  readonly nodes?: number;
  readonly body: Uint8Array;
  /** Lists, reads and discover: sent once more elsewhere when a node is lost after `started` (design §2). */
  readonly safe: boolean;
  /**
   * The id of the node to be asked first. With `incarnation` that one alone: if it is not known yet it is waited for,
   * and with another life it is gone.
   */
  readonly node?: string;
}

/** Who answered, of what is not `complete`: a retry must find it again (design §4 amendment 1). */
export interface LinkNode {
  readonly id: string;
  readonly incarnation: string;
}

export interface ListenRequest extends Omit<Listen, 'kind' | 'stream'> {
  readonly owner: string;
}

export interface NotifyRequest extends Omit<Notify, 'kind'> {
  readonly owner: string;
}

/** Bodies may be views of a larger buffer: copy what is kept beyond the exchange. */
export type LinkAnswer =
  | { readonly kind: 'result'; readonly head: Result; readonly body: Uint8Array; readonly node?: LinkNode }
  | { readonly kind: 'fault'; readonly fault: Fault };

export interface LinkListener {
  /**
   * In order. `seq` counts within the exchange, for a joiner's `fromSeq`. A promise says that the bytes are not
   * consumed until it settles: when too many are not, the node is held back, for this exchange alone.
   */
  event(method: string, members: Uint8Array, seq: number): undefined | void | Promise<void>;
  /** The node took the answers of a retry (a legacy client's 202 waits for it). */
  accepted?(): void;
}

export interface ListenListener extends LinkListener {
  /** Once, unless `close` was called before: the node ended it, or it was lost. Listen again if it is still wanted. */
  ended(answer: LinkAnswer): void;
}

export interface Listening {
  close(): void;
}

export interface Link {
  /** Never rejects. Before `started` tries the right node again elsewhere; after it, only `safe` requests. */
  call(request: LinkRequest, listener: LinkListener, signal: Signal): Promise<LinkAnswer>;
  /** Cancels an exchange wherever it runs (legacy cancel by notification on any replica). */
  cancel(tenant: string, owner: string | null, xid: string, principal: Principal, session: string | null): void;
  listen(request: ListenRequest, listener: ListenListener): Listening;
  /** A hint to the node that has the owner's work; lost when there is none. */
  notify(request: NotifyRequest): void;
  /** Live nodes known now; readiness asks. */
  nodes(): number;
  /** Resolves when the nodes known now are connected, or after a short moment. */
  start(): Promise<void>;
  /** Open calls end as `lost`. Idempotent. */
  close(): Promise<void>;
}
