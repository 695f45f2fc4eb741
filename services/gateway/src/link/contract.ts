// What the rest of the gateway knows of the link (design §4).

import type { Fault, Open, Principal, Result } from '@lockkeeper/protocol/link/frames';

export interface LinkRequest extends Omit<Open, 'kind' | 'stream'> {
  /** `ownerKey` of protocol/link/keys.ts: decides which node. */
  readonly owner: string;
  readonly body: Uint8Array;
  /** Lists, reads and discover: sent once more elsewhere when a node is lost after `started` (design §2). */
  readonly safe: boolean;
}

export type LinkAnswer =
  | { readonly kind: 'result'; readonly head: Result; readonly body: Uint8Array }
  | { readonly kind: 'fault'; readonly fault: Fault };

export interface LinkListener {
  event(method: string, members: Uint8Array): void;
}

export interface Link {
  /** Never rejects. Before `started` tries the right node again elsewhere; after it, only `safe` requests. */
  call(request: LinkRequest, listener: LinkListener, signal: AbortSignal): Promise<LinkAnswer>;
  /** Cancels an exchange wherever it runs (legacy cancel by notification on any replica). */
  cancel(tenant: string, owner: string | null, xid: string, principal: Principal, session: string | null): void;
  /** Live nodes known now; readiness asks. */
  nodes(): number;
  start(): Promise<void>;
  close(): Promise<void>;
}
