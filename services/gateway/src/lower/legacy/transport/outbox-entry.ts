// What the log of an HTTP+SSE session holds (protocol.md §3.7 "Cross-replica"): a line that says what an entry is, then
// the message as it goes out. A replica that takes a POST says so first, so that the holder of the stream knows which
// answers are owed if that replica dies; copies of what two replicas said for a moment pass once (design §4). Pure.

import type { Body } from '../../../http/contract.ts';
import { byteLength, textOfBody } from '../../../http/pieces.ts';
import type { Pending } from '../questions/takeover.ts';

interface OfCall {
  readonly xid: string;
  readonly text: Body;
}

export type OutEntry =
  /** Of no call. */
  | { readonly kind: 'told'; readonly text: Body }
  /** A request was taken by another replica than the holder; `text` names what an answer needs (`Owed`). */
  | ({ readonly kind: 'taken' } & OfCall)
  | ({ readonly kind: 'event'; readonly seq: number | null } & OfCall)
  | ({ readonly kind: 'said'; readonly name: string } & OfCall)
  /** '' when the client has cancelled and gets none. */
  | ({ readonly kind: 'response' } & OfCall);

/** Enough to refuse it in its own words when nothing else is left of it. */
export interface Owed {
  readonly idText: string;
  readonly method: string;
}

export function encodeOut({ text, ...head }: OutEntry): string {
  return `${JSON.stringify(head)}\n${textOfBody(text)}`;
}

/** Null for what no replica of ours wrote. */
export function decodeOut(value: string): OutEntry | null {
  const end = value.indexOf('\n');
  try {
    const head = JSON.parse(value.slice(0, Math.max(0, end))) as OutEntry;
    return typeof head.kind === 'string' ? { ...head, text: value.slice(end + 1) } : null;
  } catch {
    return null;
  }
}

/** The answers that other replicas owe this stream. */
export interface Debts {
  /** Whether it is to be written to the socket. */
  passes(entry: OutEntry): boolean;
  pending(): readonly Pending[];
  owed(xid: string): Owed | undefined;
}

interface Debt extends Owed {
  lastSeq: number | undefined;
  readonly names: Set<string>;
}

/** As many as a person may have open and the log may hold. */
const MAX_OPEN = 1024;
const MAX_PAID = 1024;

export function createDebts(): Debts {
  const open = new Map<string, Debt>();
  const paid = new Set<string>();

  function begin(xid: string, text: Body): void {
    if (open.has(xid) || paid.has(xid) || open.size >= MAX_OPEN) return;
    const owed = JSON.parse(textOfBody(text)) as Owed;
    open.set(xid, { ...owed, lastSeq: undefined, names: new Set() });
  }

  function pay(xid: string): void {
    if (!open.delete(xid)) return;
    paid.add(xid);
    for (const oldest of paid) {
      if (paid.size <= MAX_PAID) return;
      paid.delete(oldest);
    }
  }

  return {
    passes(entry) {
      if (entry.kind === 'told') return true;
      if (entry.kind === 'taken') {
        begin(entry.xid, entry.text);
        return false;
      }
      if (paid.has(entry.xid)) return false;
      if (entry.kind === 'response') {
        pay(entry.xid);
        return byteLength(entry.text) > 0;
      }
      const debt = open.get(entry.xid);
      if (debt === undefined) return true; // its replica holds the stream, too
      if (entry.kind === 'said') return debt.names.size < debt.names.add(entry.name).size;
      if (entry.seq === null) return true;
      if (debt.lastSeq !== undefined && entry.seq <= debt.lastSeq) return false;
      debt.lastSeq = entry.seq;
      return true;
    },
    pending: () => [...open].map(([xid, { lastSeq }]) => ({ xid, fromSeq: lastSeq })),
    owed: (xid) => open.get(xid),
  };
}
