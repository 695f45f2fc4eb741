// What the rooms of the answer pass to each other, and what they need from outside. No logic.

import type { ConfigSource, ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Fault } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Era } from '@lockkeeper/protocol/mcp/revision';
import type { Clock } from '@lockkeeper/state/clock';
import type { Store } from '@lockkeeper/state/store';
import type { TaskStore } from '@lockkeeper/state/tasks/task-store';
import type { Answer, Attribution, Exchange } from '../exchange.ts';
import type { Link } from '../link/contract.ts';
import type { Decision, Kind } from '../policy/decide.ts';
import type { SealRing } from '../seal/ring.ts';
import type { StateRefusal } from '../seal/state.ts';

export type CallFault = Omit<Fault, 'kind' | 'stream' | 'seq'> & {
  /** The exchange it came in, where that was the gateway's own (a list loaded for all who wait for it). */
  readonly from?: string;
};

/** One server as one caller reaches it: what the link and the catalogue key by. */
export interface Upstream {
  readonly spec: ServerSpec;
  /** `ownerKey` of protocol/link/keys.ts. */
  readonly owner: string;
  /** The caller's capabilities after `ask` and isolation. */
  readonly capabilities: ClientCapabilities;
  /** Under what its lists may be kept: never shared by two authorization contexts (protocol.md §2.10). */
  readonly context: string;
}

/** An answer, or a fault of the link with the server it is about; route/refuse.ts turns the latter into words. */
export type Step =
  | Answer
  | (Attribution & {
      readonly kind: 'fault';
      readonly fault: CallFault;
      readonly spec: ServerSpec;
      readonly era: Era | null;
    });

/** Structure of a pino logger, as far as it is used here. */
export interface RouteLog {
  warn(fields: object, words: string): void;
}

/** Metrics and audit, as a listener: every method may be absent. */
export interface RouteObserver {
  /** A name was judged for a call; `rule` is for audit only. */
  decided?(exchange: Exchange, server: string, kind: Kind, name: string, decision: Decision): void;
  /** Where a list or profile came from. */
  catalogue?(kind: string, source: 'store' | 'link' | 'fault'): void;
  /** A `requestState` did not count. The caller hears the same words in every case. */
  stateRefused?(exchange: Exchange, method: string, why: StateRefusal): void;
  /** A server was left out of an aggregate's answer. */
  unavailable?(exchange: Exchange, server: string, reason: string): void;
}

/** Which change notices reach clients (protocol.md §2.6 "capability truth"). */
export interface Delivers {
  readonly listChanged: boolean;
  readonly subscribe: boolean;
}

export interface RouteDeps {
  readonly link: Pick<Link, 'call'> & Partial<Pick<Link, 'cancel'>>;
  readonly store: Store;
  readonly config: ConfigSource;
  readonly clock: Clock;
  readonly ring: SealRing;
  readonly log: RouteLog;
  readonly newXid: () => string;
  /** Where tasks are kept; without it none are served. */
  readonly tasks?: TaskStore;
  readonly observer?: RouteObserver;
  /** Whether questions of servers reach the caller. False: no roots, sampling or elicitation is declared upstream. */
  readonly questions?: boolean;
  readonly delivers?: Delivers;
  /** A list of this upstream is kept now: its changes are to be heard of while it is (GB-069). */
  readonly follow?: (exchange: Exchange, up: Upstream) => void;
}
