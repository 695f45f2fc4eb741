// Deletes a text while it is the one expected: the release of a lease by the holder of its token.
// KEYS: 1 the key. ARGV: 1 the text expected. Result: 1 deleted, 0 not.

import { script } from './script.ts';

export const COMPARE_AND_DELETE = script(
  1,
  `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`,
);
