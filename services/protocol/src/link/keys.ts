// Who may share a process (design §5), as strings. Two keys: the *owner key* decides which node holds the work of
// one caller at one server; the *pool key* adds the capability fingerprint and decides which process may serve it.
// Both are canonical text (JSON arrays of strings), never split, compared for equality; services hash them where
// they become Redis keys. Adding a field to the input without adding it here must not compile (I-2).

import type { Principal } from './frames.ts';

export type Isolation = 'shared' | 'exclusive' | 'user' | 'session';

export interface KeyParts {
  readonly server: string;
  readonly digest: string;
  readonly isolation: Isolation;
  readonly principal: Principal;
  /** Legacy session id hash; null for modern callers. */
  readonly session: string | null;
  /** True when the server may ask its caller (then the client program is part of who shares, design §5). */
  readonly mayAsk: boolean;
}

export function ownerKey(parts: KeyParts): string {
  const { server, digest, isolation, principal, session, mayAsk, ...rest } = parts;
  const nothingLeft: Record<string, never> = rest;
  void nothingLeft;
  const base = [principal.tenant, server, digest, isolation];
  const person = [principal.issuer, principal.subject];
  const program = principal.client ?? '';
  switch (isolation) {
    case 'shared':
      return JSON.stringify(base);
    case 'exclusive':
      // One call and then it dies: the node is still chosen per person, so that spares are found warm.
      return JSON.stringify([...base, ...person]);
    case 'user':
      return JSON.stringify(mayAsk ? [...base, ...person, program] : [...base, ...person]);
    case 'session':
      return JSON.stringify([...base, ...person, program, session ?? '']);
  }
}

/**
 * The part of a key that is spread over several nodes which one of them has (design §4 "Hot shared keys"). Nobody else can
 * hold it, so the node that a gateway chose never answers that another has it.
 */
export function shareKey(owner: string, node: string): string {
  return JSON.stringify(['share', owner, node]);
}

/** `fingerprint` is `''` for modern upstreams (design §5 "Modern upstreams have none"). */
export function poolKey(owner: string, fingerprint: string): string {
  return JSON.stringify([owner, fingerprint]);
}
