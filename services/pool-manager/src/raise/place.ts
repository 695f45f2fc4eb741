// Room for processes that are in no pool: those that find out what a server is, and the spares that are left of it. They
// count like any other (limits.maxPerNode, maxPerTenant, maxPerServer); who gives the places knows the pools (pool/room).

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';

/** For one process after another. */
export interface Place {
  /** A process runs on it, until `gone`. */
  holds(gone: Promise<unknown>): void;
  /** There may be one more: that before is gone, or there is room for both. */
  next(): Promise<void>;
  /** What runs on it is kept for somebody; `end` is called where its place is needed. */
  kept(fingerprint: string, end: () => void): void;
  /** Nobody needed it: it ends. */
  leaves(): void;
  /** Somebody who has a place for it took it over. */
  handOver(): void;
  /** Nothing more is started on it. It is free when it holds nothing. */
  done(): void;
}

/** The place of a start, which whoever finds the era of its server has meanwhile. */
export interface Loan {
  /** Nothing is left on it that was not taken over. */
  cleared(): Promise<void>;
  /** The start is over. */
  back(): Promise<void>;
}

export interface Places {
  /** Waits for its turn; rejects when everybody has gone who waits `within` (below), and lent ones are had at once. */
  take(spec: ServerSpec): Promise<Place>;
  /** Where there is room and nobody waits for it. */
  left(spec: ServerSpec): Place | null;
  /** Waits for what needs a place first. Rejects when it has none after so long, as "busy", or with the abort reason. */
  within<T>(spec: ServerSpec, waitMs: number, signal: AbortSignal, begin: () => Promise<T>): Promise<T>;
  lend(spec: ServerSpec, signal: AbortSignal): Loan;
}

/** Of what is no process: a session with a server by URL. */
export const NO_PLACE: Place = {
  holds: () => {},
  next: async () => {},
  kept: () => {},
  leaves: () => {},
  handOver: () => {},
  done: () => {},
};

/** For who has no pools. */
export const UNBOUNDED: Places = {
  take: () => Promise.resolve(NO_PLACE),
  left: () => NO_PLACE,
  within: (_spec, _waitMs, signal, begin) => orAborted(begin(), signal),
  lend: () => ({ cleared: async () => {}, back: async () => {} }),
};

/** The caller stops waiting; the work goes on for others. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    work.catch(() => {});
    return Promise.reject(signal.reason as Error);
  }
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason as Error);
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
