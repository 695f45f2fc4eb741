// Where the ring's keys come from (Snapshot.seal): the configuration; else made at start when one process is all
// there is; else made once and shared through the store, which is said, since whoever reads the store can then seal.

import { createHash, randomBytes } from 'node:crypto';
import type { Snapshot } from '@lockkeeper/protocol/config/settings';
import { sharedSecret } from '@lockkeeper/state/bootstrap';
import type { Store } from '@lockkeeper/state/store';
import type { RingKeys, SealRing } from './ring.ts';

const KEY_BYTES = 32;

export interface SealKeyDeps {
  readonly store: Store;
  readonly warn: (words: string) => void;
}

export async function loadSealKeys(snapshot: Pick<Snapshot, 'seal' | 'state'>, deps: SealKeyDeps): Promise<RingKeys> {
  if (snapshot.seal !== undefined) return snapshot.seal;
  if (snapshot.state.kind === 'memory') return ring(randomBytes(KEY_BYTES).toString('base64url'));
  const secret = await sharedSecret(deps.store, 'seal', KEY_BYTES, { random: randomBytes, warn: deps.warn });
  return ring(secret.toString('base64url'));
}

/** After a reload: the file's keys, if they are fit. Those that were made at start stay. */
export function retakeSealKeys(
  ring: Pick<SealRing, 'rekey'>,
  { seal }: Pick<Snapshot, 'seal'>,
  warn: (words: string) => void,
): void {
  if (seal === undefined) return;
  try {
    ring.rekey(seal);
  } catch (error) {
    warn(`seal.keys was not taken, the keys before it stay: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The kid tells keys apart, so that a seal of an earlier start reads as unknown, not as tampered with. */
function ring(key: string): RingKeys {
  const kid = `auto-${createHash('sha256').update(key).digest('hex').slice(0, 8)}`;
  return { keys: [{ kid, key }] };
}
