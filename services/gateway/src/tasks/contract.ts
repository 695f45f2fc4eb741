// What the rest of the gateway knows of tasks (protocol.md §1.10).

import type { Exchange } from '../exchange.ts';

/** What feeds `notifications/tasks` of a listen whose filter has `taskIds` (protocol.md §2.9). */
export interface TaskEvents {
  /**
   * Null: unknown, ended for good, or not this caller's; it is left out of the acknowledgement. Else the way to stop.
   * `changed` is given the notification's params members each time the task is another than before, the state it has
   * now first. May be called before the promise settles.
   */
  watch(exchange: Exchange, taskId: string, changed: (members: Uint8Array) => void): Promise<(() => void) | null>;
}
