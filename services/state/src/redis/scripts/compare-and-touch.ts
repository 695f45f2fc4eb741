// Renews the TTL of a text while it is the one expected: the renewal of a lease by the holder of its token.
// KEYS: 1 the key. ARGV: 1 the text expected, 2 the TTL in ms. Result: 1 renewed, 0 not.

import { script } from './script.ts';

export const COMPARE_AND_TOUCH = script(
  1,
  `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`,
);
