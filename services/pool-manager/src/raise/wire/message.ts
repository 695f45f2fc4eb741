// One line of a server as what it is: a response, a notification or a request (protocol.md §4.1). The line is walked
// once; nothing is parsed but the id and the method. Ids are matched strictly, with their JSON type (GB-082).

import {
  type Inner,
  itemsOf,
  type Member,
  membersOf,
  type Scanned,
  scan,
  stringOf,
} from '@lockkeeper/protocol/json/scan';

export interface ScannedLine extends Scanned {
  /** Members of the object at `result`; empty when there is none. */
  readonly result: readonly Member[];
}

export interface Response {
  readonly kind: 'response';
  /** Undefined: none, or null. */
  readonly id: Member | undefined;
  readonly result: Member | undefined;
  readonly resultMembers: readonly Member[];
  readonly error: Member | undefined;
}

export type Incoming =
  | Response
  | { readonly kind: 'notification'; readonly method: string; readonly params: Member | undefined }
  | { readonly kind: 'request'; readonly id: Member; readonly method: string; readonly params: Member | undefined }
  | {
      readonly kind: 'invalid';
      readonly why: string;
      /** The id of ours that it seems to answer all the same. */
      readonly answers?: Member;
    };

const RULES = { unique: false, maxDepth: 10_000 } as const;

/** Throws ScanError when the line is not JSON. */
export function scanLine(line: Uint8Array): ScannedLine {
  const inner: Inner = { key: 'result', members: [] };
  const found = scan(line, RULES, inner);
  return { kind: found.kind, span: found.span, members: found.members, result: inner.members };
}

/** The messages of one line: one, or the elements of a 2025-03-26 batch. */
export function messagesOf(line: Uint8Array, found: ScannedLine): Incoming[] {
  if (found.kind === 'object') return [messageOf(line, found.members, found.result)];
  if (found.kind !== 'array') return [{ kind: 'invalid', why: 'not a JSON-RPC message' }];
  return itemsOf(line, found.span).map((item) => {
    if (item.kind !== 'object') return { kind: 'invalid', why: 'not a JSON-RPC message in a batch' };
    const members = membersOf(line, item);
    const result = members.findLast((m) => m.key === 'result');
    return messageOf(line, members, result?.kind === 'object' ? membersOf(line, result) : []);
  });
}

function messageOf(line: Uint8Array, members: readonly Member[], resultMembers: readonly Member[]): Incoming {
  let id: Member | undefined;
  let method: Member | undefined;
  let params: Member | undefined;
  let result: Member | undefined;
  let error: Member | undefined;
  for (const m of members) {
    if (m.key === 'id') id = m;
    else if (m.key === 'result') result = m;
    else if (m.key === 'method') method = m;
    else if (m.key === 'params') params = m;
    else if (m.key === 'error') error = m;
  }
  if (method !== undefined) {
    if (result !== undefined || error !== undefined) {
      return { kind: 'invalid', why: 'both method and result or error', ...(id === undefined ? {} : { answers: id }) };
    }
    const name = stringOf(line, method);
    if (name === undefined) return { kind: 'invalid', why: 'method is not a string' };
    if (id === undefined) return { kind: 'notification', method: name, params };
    if (id.kind !== 'number' && id.kind !== 'string') return { kind: 'invalid', why: 'request id is not valid' };
    return { kind: 'request', id, method: name, params };
  }
  const known = id !== undefined && id.kind !== 'literal' ? id : undefined;
  if (known === undefined && result === undefined && error === undefined) {
    return { kind: 'invalid', why: 'neither method, result nor error' };
  }
  return { kind: 'response', id: known, result, resultMembers, error };
}

/** The number an id member stands for; undefined when it is no integer number. */
export function numberOf(line: Uint8Array, id: Member): number | undefined {
  if (id.kind !== 'number') return undefined;
  let value = 0;
  for (let i = id.start; i < id.end; i++) {
    const digit = line[i]! - 0x30;
    if (digit < 0 || digit > 9) return slowNumberOf(line, id);
    value = value * 10 + digit;
  }
  return value;
}

/** `-1`, `1e3`, `7.0`: rare, and equal to an integer or not ours at all. */
function slowNumberOf(line: Uint8Array, id: Member): number | undefined {
  const value = Number(new TextDecoder().decode(line.subarray(id.start, id.end)));
  return Number.isSafeInteger(value) ? value : undefined;
}
