// What may go wrong with shared state, as codes (design §6). Foreign errors are translated here once: a Redis client
// error carries the command's arguments, which are values of callers, so it never leaves this service.

export type StateCode =
  /** Redis does not answer: refused, timed out, reconnecting. Try later; nothing is known of a write. */
  | 'ERR_STATE_UNREACHABLE'
  /** The memory store's bound is reached. */
  | 'ERR_STATE_FULL'
  /** The key holds another kind of value. */
  | 'ERR_STATE_KIND'
  /** A log position that no log ever gave out. */
  | 'ERR_STATE_POSITION'
  | 'ERR_STATE_CLOSED'
  /** Redis answered with an error of its own (out of memory, read-only replica, no permission). */
  | 'ERR_STATE_REFUSED';

export class StateError extends Error {
  readonly code: StateCode;

  constructor(code: StateCode, words: string) {
    super(words);
    this.name = 'StateError';
    this.code = code;
  }
}

export function isStateError(error: unknown, code?: StateCode): error is StateError {
  return error instanceof StateError && (code === undefined || error.code === code);
}

/** Every write names its TTL; one that is no positive number would be a key that never ends. */
export function checkedTtl(ttlMs: number): number {
  if (!Number.isFinite(ttlMs) || ttlMs <= 0) throw new TypeError(`ttlMs must be a positive number, not ${ttlMs}`);
  return Math.ceil(ttlMs);
}

const POSITION = /^\d{1,20}-\d{1,20}$/;

/** `''` is the start; everything else must look like a position that `append` gave out (a client may send any text). */
export function checkedPosition(position: string): string {
  if (position !== '' && !POSITION.test(position)) {
    throw new StateError('ERR_STATE_POSITION', 'that is not a position of a log');
  }
  return position;
}
