// Replaces a text by another.
// KEYS: 1 the key. ARGV: 1 the text expected, 2 the new text, 3 its TTL in ms. Result: 1 replaced, 0 not.

import { script } from './script.ts';

export const COMPARE_AND_SET = script(
  1,
  `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`,
);
