// What follows when two processes of one server answer in different eras or revisions: the program was exchanged under
// them, or one of them was misread (protocol.md §5.8 #22). Modern is positive evidence, legacy may only have been silence.

import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import type { Pool } from '../pool.ts';
import type { PooledChild } from '../pooled-child.ts';
import { endOf } from './ends.ts';

export type SiblingVerdict = 'agree' | 'older-is-stale' | 'doubt';

type Spoken = Pick<Profile, 'era' | 'revision'>;

export function judgeSiblings(newer: Spoken, older: Spoken): SiblingVerdict {
  if (newer.era !== older.era) return newer.era === 'modern' ? 'older-is-stale' : 'doubt';
  return newer.revision === older.revision ? 'agree' : 'older-is-stale';
}

/** `joined` has just introduced itself. True: which era the server has must be asked again. */
export function compareSiblings(joined: PooledChild, pools: Iterable<Pool>): boolean {
  const profile = joined.connection?.profile;
  let doubt = false;
  for (const pool of profile === undefined ? [] : pools) {
    for (const child of [...pool.children]) {
      const other = child.connection?.profile;
      if (child === joined || !child.live || other === undefined) continue;
      const verdict = judgeSiblings(profile!, other);
      doubt ||= verdict === 'doubt';
      // Nobody but its own session would notice, and to it the process is its state.
      if (verdict === 'older-is-stale' && pool.spec.isolation !== 'session') pool.retireChild(child, endOf('era'));
    }
  }
  return doubt;
}
