// A message on its way out, as text, bytes or several pieces of bytes: the large ones are never joined (contract.ts
// `Body`). How long it is, and what it says where only text will do.

import type { Body } from './contract.ts';

export function byteLength(body: Body): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body instanceof Uint8Array ? body.length : body.reduce((sum, piece) => sum + piece.length, 0);
}

const decoder = new TextDecoder();

/** For small ones: it is copied. */
export function textOfBody(body: Body): string {
  if (typeof body === 'string') return body;
  return decoder.decode(body instanceof Uint8Array ? body : Buffer.concat(body));
}
