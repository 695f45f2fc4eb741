// Legacy session ids (protocol.md §3.3, RS-23): 256 random bits as visible ASCII. An id is a name, never a
// credential: whoever shows it is authenticated first. Beyond our own keys and the client only its hash travels.

import { createHash } from 'node:crypto';

export type Random = (bytes: number) => Uint8Array;

/** 32 bytes in base64url. */
const SHAPE = /^[A-Za-z0-9_-]{43}$/;

export function mintSessionId(random: Random): string {
  return Buffer.from(random(32)).toString('base64url');
}

/** What does not look like ours is unknown before any key is made of it (GB-010: ids with `&`, CR, LF). */
export function looksLikeSessionId(text: string): boolean {
  return SHAPE.test(text);
}

/** The session as the link, logs and audit name it: not to be turned back into an id. */
export function sessionHash(id: string): string {
  return createHash('sha256').update(id).digest('base64url').slice(0, 22);
}
