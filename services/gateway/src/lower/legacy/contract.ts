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
import type { Located } from '../../http/contract.ts';
import type { Link } from '../../link/contract.ts';
import type { Log } from '../../observe/logger.ts';
import type { Recorder } from '../../observe/recorder.ts';
import type { Random } from '../../session/id.ts';
import type { Session } from '../../session/record.ts';

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
  /** The gateway's own identity; cut to the revision (protocol.md §5.3 "handshake"). */
  readonly serverInfo: Implementation;
}

/** Who asks, once the session or its absence has been judged. */
export interface LegacyCaller {
  /** Null for one that is served without (GB-008). */
  readonly session: Session | null;
  readonly revision: LegacyRevision;
  readonly capabilities: ClientCapabilities;
  readonly logLevel: LogLevel | undefined;
}

/** One JSON-RPC request of a legacy client on its way through. */
export interface LegacyCall {
  readonly ticket: Authenticated;
  readonly caller: LegacyCaller;
  readonly message: Located;
  /** Its own exchange id: the ticket's, numbered within a batch. */
  readonly xid: string;
  /** Where events of this call go; null when the client takes JSON only. */
  readonly emit: ((notification: Uint8Array) => void) | null;
}

/** The response's text; null when the client has cancelled and must not be sent one (protocol.md §2.5). */
export type Response = Uint8Array | null;
