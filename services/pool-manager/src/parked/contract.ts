// Between an exchange and what all parked exchanges of a node have in common: who is asked by which process, how many
// may wait, where the store says they are, how they ended.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open, Principal } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Connection, FaultHead, Question, Questions, ResultHead } from '../raise/contract.ts';
import type { AskTerms, ParkingDeps } from './parking.ts';

/** An exchange, as far as those who ask it know it. */
export interface Askable {
  readonly head: Open;
  /** What its call upstream was made with: questions name it. */
  readonly asker: Open;
  readonly spec: ServerSpec;
  readonly principal: Principal;
  readonly session: string | null;
  ask(question: Question, terms: AskTerms): void;
  /** False: no such question is open here. */
  withdraw(id: string): boolean;
  completed(elicitationId: string): void;
  /** The server asked for something that its process was not told of. */
  lacked(need: ClientCapabilities): void;
  /** Its time is over (design §4 "Deadlines"); the backup may say so too. */
  expired(): void;
}

export type Ended = (
  | { readonly kind: 'result'; readonly head: ResultHead; readonly members: Uint8Array }
  | { readonly kind: 'fault'; readonly head: FaultHead }
) & {
  /** What was said before it, as far as it is kept: for a joiner who comes after the end. Only in this node's memory. */
  readonly said?: readonly Said[];
};

/** One event of an exchange, numbered within it. */
export interface Said {
  readonly seq: number;
  readonly method: string;
  readonly members: Uint8Array;
}

/** What an operator's audit hears of (protocol.md Part 6 #3, design §4 amendments 3 and 7). */
export interface ParkedAudit {
  readonly what: 'foreign-state' | 'other-answers';
  readonly xid: string;
  readonly principal: Principal;
}

export interface Parked {
  /** For the connector: what servers ask. */
  readonly questions: Questions;
  readonly parking: ParkingDeps;
  /** From now on what this process asks may be this exchange's. */
  attach(connection: Connection, exchange: Askable): void;
  detach(connection: Connection, exchange: Askable): void;
  /** False: too many wait already. Idempotent. */
  admit(exchange: Askable): boolean;
  /** It waits for a person now; the store and the backup are told. */
  awaiting(exchange: Askable, deadlineMs: number): void;
  /** Null: its states are void from now on. */
  ended(exchange: Askable, ended: Ended | null): void;
  /** How an exchange ended that is no more; null: nothing is known, or it is another's. */
  outcome(head: Open): Ended | null | Promise<Ended | null>;
  audit(event: ParkedAudit): void;
  /** Exchanges that wait for a person, or have waited and not ended. */
  readonly size: number;
  close(): Promise<void>;
}
