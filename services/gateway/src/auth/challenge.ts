// The challenge table (auth-security.md RS-6, RS-7). Exhaustive: nothing else is ever put in WWW-Authenticate, and
// every word of it is a constant or comes from configuration.

import type { Refusal } from '../errors.ts';

export type Turned = 'no-token' | 'bad-token' | 'bad-credentials' | 'keys-unreadable';

const NO_KEYS = 'The keys of the token’s issuer cannot be read now, so nothing can be said of the token.';
const DESCRIPTION = 'The token is malformed, expired, or not meant for this resource';

export function challengeFor(turned: Turned, metadataUrl: string, scopes: readonly string[]): Record<string, string> {
  const scope = scopes.length === 0 ? '' : `, scope="${scopes.join(' ')}"`;
  const where = `Bearer resource_metadata="${metadataUrl}"${scope}`;
  switch (turned) {
    case 'no-token':
      return { 'www-authenticate': where };
    case 'bad-token':
      return { 'www-authenticate': `${where}, error="invalid_token", error_description="${DESCRIPTION}"` };
    case 'bad-credentials':
      return { 'www-authenticate': 'Bearer error="invalid_request"' };
    case 'keys-unreadable':
      // Never a challenge: clients would throw good tokens away and start a login storm.
      return {};
  }
}

export function refusalFor(turned: Turned, retryAfterMs: number): Refusal {
  if (turned === 'keys-unreadable') return { reason: 'unreadable', message: NO_KEYS, retryAfterMs };
  return { reason: turned };
}
