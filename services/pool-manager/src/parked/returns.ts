// Which process a modern server's own state came from, so that the retry goes back to it while it lives (design §5
// "Obligations"): by the protocol any process of that server can read the state, but some seal it with a key of their own.

import type { Connection } from '../raise/contract.ts';

/** Where a retry would be back at. */
export interface ReturnTo {
  readonly connection: Connection;
  /** The node drains, so its keys are others' by now. */
  readonly unclaimed: boolean;
}

export interface Returns {
  /** A name of this process; no other in the cluster has had it. */
  mark(connection: Connection): string;
  find(mark: string): Connection | undefined;
}

/** `node`: this node's own name, made anew at each start. */
export function createReturns(node: string): Returns {
  const marks = new WeakMap<Connection, string>();
  const connections = new Map<string, Connection>();
  let count = 0;

  return {
    mark(connection) {
      const known = marks.get(connection);
      if (known !== undefined) return known;
      const mark = `${node}.${++count}`;
      marks.set(connection, mark);
      connections.set(mark, connection);
      void connection.closed.then(() => connections.delete(mark));
      return mark;
    },
    find: (mark) => connections.get(mark),
  };
}
