// Adds an entry to a log, trims it to a length, renews its TTL and wakes the followers by a hint on a channel.
// KEYS: 1 the log. ARGV: 1 the text, 2 the length to keep, 3 the TTL in ms, 4 the channel of the hint.
// Result: the entry's position.

import { script } from './script.ts';

export const APPEND_TO_LOG = script(
  1,
  `local position = redis.call('XADD', KEYS[1], 'MAXLEN', '=', ARGV[2], '*', 'v', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PUBLISH', ARGV[4], position)
return position`,
);
