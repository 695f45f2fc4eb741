// What a node leaves in a seal (design §4 amendment 3): for an exchange that it holds, which one and which round; for a
// modern server's own state, that text. A server's state can look like anything, so the two are told apart by a mark.

export type StateText =
  | { readonly kind: 'held'; readonly xid: string; readonly round: number; readonly nonce: string }
  /** `state` absent: the server left none. `mark`: of the process that gave it (returns.ts). */
  | { readonly kind: 'passed'; readonly state?: string; readonly mark?: string };

export function heldState(xid: string, round: number, nonce: string): string {
  return `x${round}.${nonce}.${xid}`;
}

export function passedState(state: string | undefined, mark: string): string {
  return state === undefined ? `n:${mark}` : `p${mark}:${state}`;
}

/** Null: none of ours. */
export function readState(text: string): StateText | null {
  const marked = /^p([^:]{1,100}):(.*)$/s.exec(text);
  if (marked !== null) return { kind: 'passed', mark: marked[1]!, state: marked[2]! };
  if (text.startsWith('n:')) return { kind: 'passed', mark: text.slice(2) };
  // As nodes wrote it that kept no marks.
  if (text.startsWith('u')) return { kind: 'passed', state: text.slice(1) };
  const found = /^x([1-9]\d{0,8})\.([^.]+)\.(.+)$/s.exec(text);
  if (found === null) return null;
  return { kind: 'held', round: Number(found[1]), nonce: found[2]!, xid: found[3]! };
}
