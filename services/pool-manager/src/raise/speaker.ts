// One era behind one contract: what a connection must know to speak with a legacy or a modern server. Everything that
// is the same for both (ids, waiting, pages, progress, cancel) is in connection.ts and call.ts.

import type { Member } from '@lockkeeper/protocol/json/scan';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import type { LegacyTaskSeed } from '../tasks/legacy-task.ts';
import type { Caching } from './result/caching.ts';
import type { Outcome } from './result/outcome.ts';
import type { Response } from './wire/message.ts';

export type Judged =
  /** A complete result: `finish`, or the next page. */
  | { readonly kind: 'complete' }
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  /** A 2025-11-25 server made a task of it: the answer comes by way of that. */
  | { readonly kind: 'task'; readonly seed: LegacyTaskSeed }
  /** Send the same once more under a new id (-32022 with a revision in common), when `after` has settled. */
  | { readonly kind: 'again'; readonly after?: Promise<void> };

/** The calls that are open on the connection, as far as an era may look. */
export interface Room {
  readonly open: number;
  /** Whose a question is that comes now: the call's that runs, else the only parked one's; null: nobody's for certain. */
  asker(): Open | null;
}

export interface Speaker {
  readonly fingerprint: string;
  /** Whether a cancelled call leaves the process unfit for others (design §5 "Taint"). */
  readonly taints: boolean;
  readonly caching: Caching;
  profile(): Profile;
  /** The answer that needs no upstream; null: send it. */
  local(head: Open, params: Uint8Array): Outcome | null;
  /** Right before a call goes up. */
  before(head: Open, room: Room): void;
  /** `_meta` members of one request. */
  meta(head: Open, id: number): string;
  params(head: Open, members: Uint8Array): Uint8Array;
  judge(head: Open, line: Uint8Array, response: Response): Judged;
  finish(head: Open, line: Uint8Array, members: readonly Member[]): Outcome;
  /** Whose log message it is, from the open calls that want logs; null: nobody's for certain. */
  logOwner<T extends { readonly head: Open }>(open: ReadonlySet<T>): T | null;
  request(line: Uint8Array, id: string, method: string, params: Member | undefined, room: Room): void;
  /** The server has said that its tools are others now. */
  toolsChanged?(): void;
  /** Notifications other than progress and log messages. */
  notification(line: Uint8Array, method: string, params: Member | undefined): void;
}
