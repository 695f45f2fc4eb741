// The tickets of one downstream request (style §3.2). Each stage takes the ticket of the one before it and gives a
// new one; none is written to by a later stage.

import type { RouteSettings, Snapshot } from '@lockkeeper/protocol/config/settings';
import type { Member } from '@lockkeeper/protocol/json/scan';
import type { RequestId } from '@lockkeeper/protocol/jsonrpc/message';
import type { Origin, Principal, TraceContext } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { LogLevel } from '@lockkeeper/protocol/mcp/meta';
import type { Era } from '@lockkeeper/protocol/mcp/revision';
import type { Refusal } from './errors.ts';
import type { Signal } from './leaving.ts';

/** Who calls: made by authenticate, from headers only. */
export interface Caller {
  readonly principal: Principal;
  readonly groups: readonly string[];
  /** Unix ms at which the token ends; null in open mode. */
  readonly expiresAt: number | null;
}

/** After receive and authenticate: a route, a person, nothing of the body read yet. */
export interface Authenticated {
  readonly xid: string;
  readonly snapshot: Snapshot;
  readonly route: RouteSettings;
  readonly caller: Caller;
  readonly trace: TraceContext;
  /** Monotonic ms (performance.now) of arrival, for audit and metrics. */
  readonly arrivedAt: number;
  /** Calls back once the reply has been taken by the client's side of the connection, or the client is gone. */
  readonly replied?: (done: () => void) => void;
}

/** What `answer` needs to know of the request around an ask. Both eras make it. */
export interface Exchange extends Authenticated {
  readonly era: Era;
  readonly revision: string;
  /** Legacy session id; null for modern and for stateless legacy callers. */
  readonly session: string | null;
  readonly capabilities: ClientCapabilities;
  readonly logLevel?: LogLevel;
  /** Aborted when the client no longer wants the answer, at the deadline, and at drain's end. */
  readonly signal: Signal;
  /** `keep` for legacy callers: a disconnect is not a cancel (protocol.md §3.2). */
  readonly onVanish: 'cancel' | 'keep';
}

/** One modern request on its way, whatever era it came in: the text as it came and where its parts are. */
export interface Ask {
  readonly method: string;
  /** The whole message's bytes; spans below point into it. */
  readonly bytes: Uint8Array;
  /** Members of `params` ([] when there is none), `_meta` among them. */
  readonly params: readonly Member[];
  /** Surviving vendor `_meta` members without braces: reserved keys, progressToken and trace keys taken out. */
  readonly meta?: string;
  /** params.name / params.uri / params.taskId, decoded, of the methods that have one. */
  readonly name?: string;
  /** The caller gave a progress token (which never leaves the lowering). */
  readonly progress: boolean;
  /**
   * Re-joins an exchange without answers (design §4 amendment 5): `params` then hold the sealed `requestState` of its
   * last `input_required`. Only the legacy leg does this; a retry with answers is `requestState` + `inputResponses` in
   * `params`, whatever the era. Without a `requestState` (nothing has been asked yet) it re-joins by `Exchange.xid`:
   * it never starts anything, and what the node does not know is refused. It is answered when the set of questions is
   * another than that of the state, or with the outcome.
   */
  readonly wait?: boolean;
  /** With `wait`: events up to this one are not sent again. */
  readonly fromSeq?: number;
  /** Mcp-Param-* headers of a modern request, lower-case names without the prefix; undefined for legacy callers. */
  readonly paramHeaders?: ReadonlyMap<string, string>;
}

/** What the audit row and the metrics say of an answer; its caller is shown none of it. */
export interface Attribution {
  /** The server that answered, for the audit row of an aggregate route. */
  readonly server?: string;
  /** The rule of the policy by which the call was allowed or not. */
  readonly rule?: string;
  /** The exchange that this request went on with: a retry has an xid of its own. */
  readonly continues?: string;
  /** Why it was refused, where the reason leaves that open. */
  readonly detail?: string;
}

/** What comes back, still modern; lower renders it for the caller's era. */
export type Answer = Attribution &
  (
    | {
        readonly kind: 'result';
        readonly resultType: string;
        /**
         * Result members without braces, without `_meta` and `resultType`. Those of `input_required` are
         * `"inputRequests":{…}` and our sealed `"requestState":"…"`.
         */
        readonly members: Uint8Array;
        /** Vendor `_meta` members. */
        readonly meta?: string;
        readonly origin?: Origin;
      }
    | { readonly kind: 'refusal'; readonly refusal: Refusal }
  );

export interface AnswerListener {
  /** Progress (without token) or a log message. `members` are the params' members. Called in order; `seq` as the link's. */
  event(method: string, members: Uint8Array, seq?: number): void;
  /** The node took the answers of this retry: a legacy client's 202 waits for it. */
  accepted?(): void;
}

/** The middle of the walk, the same for both eras: authorize → resolve → call (route/answer.ts). Never throws. */
export type AnswerFn = (exchange: Exchange, ask: Ask, listener: AnswerListener) => Promise<Answer>;

export type { RequestId };
