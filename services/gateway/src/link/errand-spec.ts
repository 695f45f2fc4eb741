// What an errand is to do, and where it may be done.

import type { StreamHead } from '@lockkeeper/protocol/link/frames';

export interface ErrandSpec {
  readonly owner: string;
  /** On how many nodes its owner's work may be at once; absent: on one. */
  readonly nodes?: number | undefined;
  /** Null: a listen. */
  readonly xid: string | null;
  /** Only the node under this name may serve it. */
  readonly incarnation: string | undefined;
  /** Its id, if the asker has it. */
  readonly node: string | undefined;
  /** Asks for an exchange that may run at any node, and starts nothing: all are asked before it is unknown. */
  readonly joins: boolean;
  /** How its exchange ended is in the store, where any node finds it when the one that ran it is gone. */
  readonly recorded: boolean;
  readonly safe: boolean;
  readonly body: Uint8Array;
  /** Null: no deadline (listen is exempt, protocol.md §4.7). */
  readonly deadlineMs: number | null;
  /** `anywhere`: for a node that did not run it, and is to run nothing. */
  head(stream: number, leftMs: number, seenSeq: number, anywhere: boolean): StreamHead;
}
