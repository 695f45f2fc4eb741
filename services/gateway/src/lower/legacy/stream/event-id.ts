// Event ids `<stream>-<position>` (protocol.md §3.4): unique over all streams of a session, and naming their stream, so
// that a resumed one never replays another's events. A client may send any text as Last-Event-ID. Pure.

export type StreamKind = 'post' | 'get';

export interface Cursor {
  readonly kind: StreamKind;
  readonly stream: string;
  /** A log position; the start for the priming event. */
  readonly position: string;
}

/** Before every entry of a log. */
export const START = '0-0';

const LETTER = { post: 'p', get: 'g' } as const;
const SHAPE = /^(([pg])[0-9a-f]{16})-(\d{1,20}-\d{1,20})$/;

/** Random, since no two replicas count together. */
export function mintStream(kind: StreamKind, random: (bytes: number) => Uint8Array): string {
  return LETTER[kind] + Buffer.from(random(8)).toString('hex');
}

export function eventId(stream: string, position: string): string {
  return `${stream}-${position}`;
}

/** Null for text that we never gave out. */
export function readEventId(text: string): Cursor | null {
  const found = SHAPE.exec(text);
  if (found === null) return null;
  return { kind: found[2] === 'p' ? 'post' : 'get', stream: found[1]!, position: found[3]! };
}

/** Positions order by their numbers. */
export function isAfter(position: string, cursor: string): boolean {
  const [a = 0, b = 0] = position.split('-').map(Number);
  const [c = 0, d = 0] = cursor.split('-').map(Number);
  return a > c || (a === c && b > d);
}
