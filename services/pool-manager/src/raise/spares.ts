// The process that a probe or a first introduction left over, kept a moment for whoever caused it. One per server, never
// used before; taken once, or ended.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Connection } from './contract.ts';
import { idOf } from './verdicts.ts';

export interface Spares {
  put(spec: ServerSpec, connection: Connection): void;
  take(spec: ServerSpec, fingerprint: string): Connection | null;
  close(): Promise<void>;
}

export function createSpares(clock: Clock, keepMs: number): Spares {
  const spares = new Map<string, { readonly connection: Connection; readonly timer: Timer }>();
  const endings = new Set<Promise<void>>();
  let closed = false;

  function end(connection: Connection): void {
    const ending = connection.stop('nobody needed it').finally(() => endings.delete(ending));
    endings.add(ending);
  }

  function remove(id: string): Connection | null {
    const spare = spares.get(id);
    if (spare === undefined) return null;
    spares.delete(id);
    spare.timer.clear();
    return spare.connection;
  }

  return {
    put(spec, connection) {
      const id = idOf(spec);
      const before = remove(id);
      if (before !== null) end(before);
      if (closed) return end(connection);
      const timer = clock.setTimer(keepMs, () => {
        if (spares.get(id)?.connection === connection && remove(id) !== null) end(connection);
      });
      spares.set(id, { connection, timer });
      void connection.closed.then(() => {
        if (spares.get(id)?.connection === connection) remove(id);
      });
    },
    take(spec, fingerprint) {
      const id = idOf(spec);
      return spares.get(id)?.connection.fingerprint === fingerprint ? remove(id) : null;
    },
    async close() {
      closed = true;
      for (const id of [...spares.keys()]) {
        const connection = remove(id);
        if (connection !== null) end(connection);
      }
      await Promise.all(endings);
    },
  };
}
