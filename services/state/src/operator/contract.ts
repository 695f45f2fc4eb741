// What an operator may be shown of the processes of a node, and have done to them. No names of persons are in it.

export type Order = 'restart' | 'drain' | 'evict';

export const ORDERS: readonly Order[] = ['restart', 'drain', 'evict'];

/** One process, or all of one server. */
export type Whom = { readonly id: string } | { readonly tenant: string; readonly server: string };

export interface PoolOperator {
  /** As JSON. */
  list(): object;
  /** The ids of those it was done to. */
  order(order: Order, whom: Whom): readonly string[];
}
