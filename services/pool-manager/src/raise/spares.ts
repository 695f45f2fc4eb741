// The process that a probe or a first introduction left over, kept a moment for whoever caused it. One per server, never
// used before; taken once, or ended.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Connection } from './contract.ts';
import type { Place } from './place.ts';
import { idOf } from './verdicts.ts';

export interface Spares {
  put(spec: ServerSpec, connection: Connection, place: Place): void;
  take(spec: ServerSpec, fingerprint: string): Connection | null;
  close(): Promise<void>;
}

interface Spare {
  readonly connection: Connection;
  readonly place: Place;
  readonly timer: Timer;
}

export function createSpares(clock: Clock, keepMs: number): Spares {
  const spares = new Map<string, Spare>();
  const endings = new Set<Promise<void>>();
  let closed = false;

  function end(connection: Connection): void {
    const ending = connection.stop('nobody needed it').finally(() => endings.delete(ending));
    endings.add(ending);
  }

  function remove(id: string): Spare | null {
    const spare = spares.get(id);
    if (spare === undefined) return null;
    spares.delete(id);
    spare.timer.clear();
    spare.place.leaves();
    return spare;
  }

  /** Ends the one that is there, or only this one. */
  function drop(id: string, only?: Connection): void {
    if (only !== undefined && spares.get(id)?.connection !== only) return;
    const spare = remove(id);
    if (spare !== null) end(spare.connection);
  }

  return {
    put(spec, connection, place) {
      const id = idOf(spec);
      drop(id);
      if (closed) return end(connection);
      const over = () => drop(id, connection);
      spares.set(id, { connection, place, timer: clock.setTimer(keepMs, over) });
      place.kept(connection.fingerprint, over);
      void connection.closed.then(() => {
        if (spares.get(id)?.connection === connection) remove(id);
      });
    },
    take(spec, fingerprint) {
      const id = idOf(spec);
      if (spares.get(id)?.connection.fingerprint !== fingerprint) return null;
      const spare = remove(id)!;
      spare.place.handOver();
      return spare.connection;
    },
    async close() {
      closed = true;
      for (const id of [...spares.keys()]) drop(id);
      await Promise.all(endings);
    },
  };
}
