// Errors of the Redis client and of Redis itself, turned into ours. Only the first word of a foreign text is kept: the
// rest of it, and the error object, may hold what a caller sent.

import { StateError } from '../errors.ts';

/** Redis is there and cannot serve just now: for callers the same as being away. */
const NOT_NOW: ReadonlySet<string> = new Set(['READONLY', 'LOADING', 'MASTERDOWN', 'CLUSTERDOWN', 'TRYAGAIN', 'BUSY']);

export function translated(error: unknown): StateError {
  if (error instanceof StateError) return error;
  if (!(error instanceof Error)) return new StateError('ERR_STATE_UNREACHABLE', 'Redis is unreachable');
  if (error.name !== 'ReplyError')
    return new StateError('ERR_STATE_UNREACHABLE', `Redis is unreachable (${error.name})`);
  if (error.message.includes('WRONGTYPE')) {
    return new StateError('ERR_STATE_KIND', 'the key holds another kind of value');
  }
  if (error.message.includes('Invalid stream ID')) {
    return new StateError('ERR_STATE_POSITION', 'that is not a position of a log');
  }
  const word = /^[A-Z]{2,20}/.exec(error.message)?.[0] ?? 'ERR';
  return NOT_NOW.has(word)
    ? new StateError('ERR_STATE_UNREACHABLE', `Redis is unreachable (${word})`)
    : new StateError('ERR_STATE_REFUSED', `Redis refused the operation (${word})`);
}
