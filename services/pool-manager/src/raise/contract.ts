// raise: any upstream, presented as a modern server (design §1). One `Connection` is one process (or, later, one
// remote session). The pool decides who gets it; the connection knows how to speak.

import type { Fault, Open, Result } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import type { ExitReason } from '../child/contract.ts';

export interface UpstreamReply {
  /** Called right before the first byte of this call goes upstream. */
  started(): void;
  event(method: string, members: Uint8Array): void;
  result(head: Omit<Result, 'kind' | 'stream' | 'seq'>, members: Uint8Array): void;
  fault(head: Omit<Fault, 'kind' | 'stream' | 'seq'>): void;
}

export interface UpstreamCall {
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
  call(head: Open, members: Uint8Array, reply: UpstreamReply): UpstreamCall;
  readonly closed: Promise<ExitReason>;
  stop(why: string): Promise<void>;
}

/** Starts (probing first where the era is unknown) one connection for a spec and a projection of capabilities. */
export interface Connector {
  connect(
    spec: import('@lockkeeper/protocol/config/settings').ServerSpec,
    capabilities: ClientCapabilities,
    signal: AbortSignal,
  ): Promise<Connection>;
  /** The profile, from the store or by a probe; single-flight across nodes (design §5 "Life of a process"). */
  profile(spec: import('@lockkeeper/protocol/config/settings').ServerSpec, signal: AbortSignal): Promise<Profile>;
}

/** Thrown by `connect` and `profile`. `words` complete "server X could not be started: …". */
export class StartError extends Error {
  readonly words: string;
  readonly stderrTail: string;
  constructor(words: string, stderrTail: string) {
    super(words);
    this.words = words;
    this.stderrTail = stderrTail;
  }
}
