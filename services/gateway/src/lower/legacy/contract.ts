// What the legacy leg is built from, and the words its files share. The leg knows sessions, transports and revisions;
// it knows nothing of servers, policy or sockets (design §1 "lower").

import type { ConfigSource } from '@lockkeeper/protocol/config/settings';
import type { ClientCapabilities, Implementation, ServerCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { LogLevel } from '@lockkeeper/protocol/mcp/meta';
import type { LegacyRevision } from '@lockkeeper/protocol/mcp/revision';
import type { Clock } from '@lockkeeper/state/clock';
import type { Store } from '@lockkeeper/state/store';
import type { Refusal } from '../../errors.ts';
import type { AnswerFn, Authenticated, Exchange } from '../../exchange.ts';
import type { Forgetting } from '../../forget.ts';
import type { Body, Located } from '../../http/contract.ts';
import type { Link } from '../../link/contract.ts';
import type { Log } from '../../observe/logger.ts';
import type { Recorder } from '../../observe/recorder.ts';
import type { Random } from '../../session/id.ts';
import type { Session } from '../../session/record.ts';
import type { KeptCall } from './questions/record.ts';
import type { MakeAudience } from './watch/contract.ts';

/** What a route offers this caller, for `initialize` (route/initialize.ts). */
export type InitializeInfo =
  | { readonly kind: 'info'; readonly capabilities: ServerCapabilities; readonly instructions?: string }
  | { readonly kind: 'refusal'; readonly refusal: Refusal };

export type InitializeInfoFn = (exchange: Exchange) => Promise<InitializeInfo>;

export interface LegacyDeps {
  readonly store: Store;
  readonly answer: AnswerFn;
  readonly initializeInfo: InitializeInfoFn;
  readonly config: ConfigSource;
  readonly link: Pick<Link, 'cancel'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly recorder: Recorder;
  readonly log: Log;
  /** The same on every replica: ids of wire requests are made with it. */
  readonly wireSecret: Uint8Array;
  /** Who is told of changes; absent: nobody is. */
  readonly audience?: MakeAudience;
  /** The gateway's own identity; cut to the revision (protocol.md §5.3 "handshake"). */
  readonly serverInfo: Implementation;
  /** Who asks now and then what may be forgotten. */
  readonly forgetting?: Pick<Forgetting, 'add'>;
}

/** Who asks, once the session or its absence has been judged. */
export interface LegacyCaller {
  /** Null for one that is served without (GB-008). */
  readonly session: Session | null;
  readonly revision: LegacyRevision;
  readonly capabilities: ClientCapabilities;
  readonly logLevel: LogLevel | undefined;
}

/** Where a call speaks before it is answered: its own stream and no other (protocol.md §3.2). */
export interface Voice {
  /** Progress or a log message: dropped when the client reads too slowly. `seq` as the link's. */
  event(xid: string, seq: number | undefined, text: Uint8Array): void;
  /** What must not be lost: wire requests and what belongs to them. Rejects when it cannot reach the client any more. */
  say(text: Uint8Array, name: string): Promise<void>;
}

/** One JSON-RPC request of a legacy client on its way through. */
export interface LegacyCall {
  readonly ticket: Authenticated;
  readonly caller: LegacyCaller;
  readonly message: Located;
  /** Its own exchange id: the ticket's, numbered within a batch. */
  readonly xid: string;
  /** Null when the client takes JSON only. */
  readonly voice: Voice | null;
  /** What the store keeps of it; null without a session, where nothing can be asked and nothing resumed. */
  readonly kept: KeptCall | null;
  /** Taken over from a replica that is gone: joined, never begun. */
  readonly taken?: { readonly fromSeq: number | undefined };
}

/** A JSON-RPC message as it goes out: whole, or in pieces where joining them would copy a large one. */
export type Message = Exclude<Body, string>;

/**
 * The response's text. Null when the client has cancelled and must not be sent one (protocol.md §2.5); `left` when
 * another replica answers the call.
 */
export type Response = Message | null | 'left';
