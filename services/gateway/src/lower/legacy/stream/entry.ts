// What a stream's log holds: one line that says what an entry is, then the message as it goes out. Two replicas may
// lower one exchange for a moment (design §4 "idempotent on xid + seq"), so each entry has a name and a sieve lets each
// name through once, in the order of the log. Pure.

import type { Body } from '../../../http/contract.ts';
import { byteLength, textOfBody } from '../../../http/pieces.ts';

interface Told {
  /** Null: too large for the log, to be had elsewhere. */
  readonly text: Body | null;
}

export type Entry =
  /** Progress or a log message; `seq` null: not numbered, never taken for a copy. */
  | ({ readonly kind: 'event'; readonly xid: string; readonly seq: number | null } & Told)
  /** A wire request of ours, or what belongs to one; its name is the same however often it is lowered. */
  | ({ readonly kind: 'said'; readonly name: string } & Told)
  /** The response to one of the stream's calls; '' when the client has cancelled and gets none. */
  | ({ readonly kind: 'response'; readonly xid: string } & Told);

/** Of an entry's text; what is larger stays where it came from, and is never made a string of (design §4). */
const MAX_BYTES = 256 * 1024;

/** The entry as it may be kept. */
export function fitting<E extends Entry>(entry: E): E {
  return entry.text !== null && byteLength(entry.text) > MAX_BYTES ? { ...entry, text: null } : entry;
}

/** The same for every copy of an entry. */
export function nameOf(entry: Entry): string {
  switch (entry.kind) {
    case 'event':
      return `e ${entry.xid} ${entry.seq ?? '-'}`;
    case 'said':
      return `s ${entry.name}`;
    case 'response':
      return `r ${entry.xid}`;
  }
}

export function encodeEntry(entry: Entry): string {
  const name = nameOf(entry);
  return entry.text === null
    ? `${name.charAt(0).toUpperCase()}${name.slice(1)}\n`
    : `${name}\n${textOfBody(entry.text)}`;
}

/** Null for what no replica of ours wrote. */
export function decodeEntry(value: string): Entry | null {
  const end = value.indexOf('\n');
  const [letter = '', name = '', seq = '-'] = value.slice(0, Math.max(0, end)).split(' ');
  const text = letter >= 'a' ? value.slice(end + 1) : null;
  if (name === '') return null;
  switch (letter.toLowerCase()) {
    case 'e':
      return { kind: 'event', xid: name, seq: seq === '-' ? null : Number(seq), text };
    case 's':
      return { kind: 'said', name, text };
    case 'r':
      return { kind: 'response', xid: name, text };
    default:
      return null;
  }
}

export interface Sieve {
  /** False for a copy of what has passed before, and for what comes after a call's response. */
  passes(entry: Entry): boolean;
  /** The last numbered event that has passed; undefined when none has. */
  lastSeq(xid: string): number | undefined;
  answered(xid: string): boolean;
}

export function createSieve(): Sieve {
  const seqs = new Map<string, number>();
  const names = new Set<string>();
  return {
    passes(entry) {
      if (entry.kind === 'event') {
        if (names.has(`r ${entry.xid}`)) return false;
        if (entry.seq === null) return true;
        if (entry.seq <= (seqs.get(entry.xid) ?? -1)) return false;
        seqs.set(entry.xid, entry.seq);
        return true;
      }
      const name = nameOf(entry);
      if (names.has(name)) return false;
      names.add(name);
      return true;
    },
    lastSeq: (xid) => seqs.get(xid),
    answered: (xid) => names.has(`r ${xid}`),
  };
}

/** For a stream without calls: nobody lowers it twice, and it may stay open for days. */
export const OPEN_SIEVE: Sieve = { passes: () => true, lastSeq: () => undefined, answered: () => false };
