// Adds a member to a set that may not grow beyond a cap, and renews the set's TTL unless the member was refused.
// KEYS: 1 the set. ARGV: 1 the member, 2 the cap, 3 the TTL in ms. Result: 'added', 'present' or 'full'.

import { script } from './script.ts';

export const ADD_TO_SET = script(
  1,
  `local result = 'added'
if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then
  result = 'present'
elseif redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[2]) then
  return 'full'
else
  redis.call('SADD', KEYS[1], ARGV[1])
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return result`,
);
