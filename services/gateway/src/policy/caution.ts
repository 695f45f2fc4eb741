// What an operator should hear of a configuration that is right, and yet may not be what was meant (design §7): everybody
// is one user, or a tenant has routes on which nobody may do anything. Said at the start, and again when a reload
// changes it.

import type { ConfigSource, Snapshot } from '@lockkeeper/protocol/config/settings';
import type { Rules } from './decide.ts';

export type Cautioned = Rules & Pick<Snapshot, 'routes'>;

const OPEN = 'auth.mode is open: all callers are one user, anonymous, who may use everything';

/** Null: nothing to say. */
export function cautionOf({ auth, policy, routes }: Cautioned): string | null {
  if (auth.mode === 'open') return OPEN;
  const ruled = new Set(policy.map(({ tenant }) => tenant));
  const closed = [...new Set(routes.map(({ tenant }) => tenant))].filter((tenant) => !ruled.has(tenant));
  if (closed.length === 0) return null;
  return `nothing is allowed to anybody of ${closed.join(', ')}: add rules under policy`;
}

/** Returns the way to stop. */
export function sayCautions(config: ConfigSource, warn: (words: string) => void): () => void {
  let said: string | null = null;
  const say = (snapshot: Snapshot): void => {
    const words = cautionOf(snapshot);
    if (words !== null && words !== said) warn(words);
    said = words;
  };
  say(config.current());
  return config.onChange(say);
}
