// Ids of our own requests to a client (protocol.md §3.5 "ids"). Made from what is asked, so that whoever lowers the same
// question again asks it under the same id, and never twice (design §4 "Legacy streams"). They begin with a part of the
// session's hash: an answer that names another session's question is seen as such.

import { createHmac } from 'node:crypto';

export interface WireIds {
  mint(sessionHash: string, xid: string, turn: string, key: string): string;
  /** Of a URL, or of any other text, within an exchange. */
  mark(xid: string, text: string): string;
  /** What the client knows a URL by. */
  elicitation(mark: string): string;
}

const SHAPE = /^lk\.([A-Za-z0-9_-]{8})\.[A-Za-z0-9_-]{22}$/;

export function createWireIds(secret: Uint8Array): WireIds {
  const mac = (...parts: readonly unknown[]): string =>
    createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url').slice(0, 22);
  return {
    mint: (hash, xid, turn, key) => `lk.${hash.slice(0, 8)}.${mac('wire', hash, xid, turn, key)}`,
    mark: (xid, text) => mac('text', xid, text),
    elicitation: (mark) => mac('elicitation', mark),
  };
}

/** Whose question an id is about; `null`: none of ours. */
export function whoseWireId(id: unknown, sessionHash: string): 'own' | 'foreign' | null {
  const found = typeof id === 'string' ? SHAPE.exec(id) : null;
  if (found === null) return null;
  return found[1] === sessionHash.slice(0, 8) ? 'own' : 'foreign';
}
