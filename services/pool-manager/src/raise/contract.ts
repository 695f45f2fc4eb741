// raise: any upstream, presented as a modern server (design §1). One `Connection` is one process (or, later, one
// remote session). The pool decides who gets it; the connection knows how to speak.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Fault, Open, Result } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import type { ExitReason } from '../child/contract.ts';
import type { TaskedUpstream } from '../link/contract.ts';
import type { Side } from './side.ts';

export type ResultHead = Omit<Result, 'kind' | 'stream' | 'seq'>;
export type FaultHead = Omit<Fault, 'kind' | 'stream' | 'seq'>;

export interface UpstreamReply {
  /** Called right before the first byte of this call goes upstream. */
  started(): void;
  event(method: string, members: Uint8Array): void;
  /** Progress was seen, whether or not it is relayed: the call lives (protocol.md §4.7). */
  progressed?(): void;
  result(head: ResultHead, members: Uint8Array): void;
  fault(head: FaultHead): void;
  /** A legacy server made a task of it (2025-11-25); the answer comes all the same. */
  tasked?(upstream: TaskedUpstream): void;
  /** The server ended the call until these have been visited (-32042). Without it such an answer is a fault. */
  visitFirst?(visits: readonly Visit[], instead: FaultHead): void;
}

/** One entry of a -32042. */
export interface Visit {
  readonly elicitationId: string;
  readonly url: string;
  readonly message: string;
}

export interface UpstreamCall {
  /** It waits for its caller: what the server asks and logs now is another call's, if one runs. */
  park?(): void;
  resume?(): void;
  /** The caller no longer wants it: cancel upstream, settle as `cancelled`, drop the late answer. */
  cancel(reason: string): void;
}

export interface Connection {
  readonly profile: Profile;
  /** What it was initialised with ('' for modern), as fingerprint text. */
  readonly fingerprint: string;
  /** Calls not settled yet. */
  readonly open: number;
  /** Legacy process whose call was cancelled, timed out or lost: never lent to another person (design §5). */
  readonly tainted: boolean;
  readonly uses: number;
  /** Its process has ended, though `closed` may not have been heard yet: nothing may be begun on it. */
  readonly gone?: boolean;
  readonly pid?: number | undefined;
  call(head: Open, members: Uint8Array, reply: UpstreamReply): UpstreamCall;
  readonly closed: Promise<ExitReason>;
  /** `now`: without time for goodbyes. */
  stop(why: string, how?: 'now'): Promise<void>;
  /** What the node asks beside everybody's calls: listens, subscriptions. */
  readonly side?: Side;
}

/** Starts (probing first where the era is unknown) one connection for a spec and a projection of capabilities. */
export interface Connector {
  connect(spec: ServerSpec, capabilities: ClientCapabilities, signal: AbortSignal): Promise<Connection>;
  /**
   * The profile, from the store or by a probe; single-flight across nodes (design §5 "Life of a process"). Its
   * capabilities may be empty where the upstream called its answer private: a connection's own profile has them.
   * `waitMs`: longest wait until there is a place for the probe, as a rule limits.queueMs; then "busy".
   */
  profile(spec: ServerSpec, signal: AbortSignal, waitMs?: number): Promise<Profile>;
  /** The same without waiting; null: ask for it. */
  known(spec: ServerSpec): Profile | null;
  /** Two processes of it disagree: what is remembered of its era is forgotten. */
  doubt?(spec: ServerSpec, why: string): void;
  /** Servers whose era is not looked for again for now, since it could not be found. */
  backingOff?(): number;
  /** Ends spare processes and probes in the background. Connections handed out are their holder's. */
  close(): Promise<void>;
}

/** Thrown by `connect` and `profile`. `words` complete "server X could not be started: …". */
export class StartError extends Error {
  readonly words: string;
  readonly stderrTail: string;
  /** It refuses our credentials: the operator's to mend. */
  readonly denied: boolean;
  constructor(words: string, stderrTail: string, denied = false) {
    super(words);
    this.words = words;
    this.stderrTail = stderrTail;
    this.denied = denied;
  }
}

/** What the upstream said of itself without being asked: it feeds listens and makes catalogues stale. */
export interface Change {
  readonly method: string;
  /** Of `notifications/resources/updated`. */
  readonly uri?: string;
}

/** A request of a legacy server (protocol.md §5.5). The bytes are only valid during the call. */
export interface Question {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  /** Raw JSON text of its id: named again when the server withdraws it. */
  readonly id: string;
  /** Raw JSON text of its params, or `{}`. */
  readonly params: Uint8Array;
  /** The call that runs on the process, or where none does the only one that is parked; null: nobody's for certain. */
  readonly asker: Open | null;
  /** Exactly once. The raw JSON text of the result, or an error. */
  answer(result: Uint8Array): void;
  refuse(code: number, message: string): void;
  /** Null: it gave no progress token. */
  readonly progress: ((count: number) => void) | null;
}

/**
 * Where parked exchanges plug in. As long as a connector has none, it declares neither roots, sampling nor
 * elicitation upstream, and answers every such request with a refusal.
 */
export interface Questions {
  ask(connection: Connection, question: Question): void;
  /** The server cancelled its own request. */
  withdraw(connection: Connection, id: string): void;
  /** It asked for what its process was not told of; it has been refused. */
  refused?(connection: Connection, asker: Open, need: ClientCapabilities): void;
  /** What was to be done at a URL is done, says the server. */
  completed?(connection: Connection, elicitationId: string): void;
}

/** The part of a logger that raise and the dispatcher need; pino has it. */
export interface Log {
  debug(fields: object, words: string): void;
  info(fields: object, words: string): void;
  warn(fields: object, words: string): void;
}
