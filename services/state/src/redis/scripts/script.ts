// A Lua script as a value: its text, its number of keys and the hash by which Redis remembers it. Scripts are TypeScript
// files, not .lua ones, so that the compiled image has them without a copy step. One file a script; its header lists
// keys, arguments and result.

import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

export interface Script {
  readonly keys: number;
  readonly lua: string;
  readonly sha: string;
}

export function script(keys: number, lua: string): Script {
  return { keys, lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/** By hash; by text where Redis has forgotten it (restart, failover, SCRIPT FLUSH). */
export async function runScript(
  client: Redis,
  { keys, lua, sha }: Script,
  ...parts: readonly (string | number)[]
): Promise<unknown> {
  try {
    return await client.evalsha(sha, keys, ...parts);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return await client.eval(lua, keys, ...parts);
  }
}
