// What the operator says of a server's era and transport, where nothing is left to be found out (design §5 "Life of a
// process").

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import { LEGACY_LATEST, MODERN } from '@lockkeeper/protocol/mcp/revision';

/** Null: it must be found out. One object for a spec, since it is asked for at each call. */
export function configured(spec: ServerSpec): Profile | null {
  let told = known.get(spec);
  if (told === undefined) {
    told = read(spec);
    known.set(spec, told);
  }
  return told;
}

const known = new WeakMap<ServerSpec, Profile | null>();

function read({ era, http }: ServerSpec): Profile | null {
  if (era === 'modern') return profile('modern', MODERN);
  const transport = http?.transport;
  if (transport === 'sse') return profile('legacy', LEGACY_LATEST, 'sse');
  if (era === 'auto' || transport === 'auto') return null;
  return profile('legacy', LEGACY_LATEST, transport);
}

function profile(era: Profile['era'], revision: string, transport?: Profile['transport']): Profile {
  const told = { era, revision, supported: [revision], capabilities: {}, foundAt: 0, evidence: 'configured' };
  return transport === undefined ? told : { ...told, transport };
}
