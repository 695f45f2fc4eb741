// `input_required` read: its state and its questions by key, located and not parsed (protocol.md §1.5); and what can
// become of a question. Pure.

import { objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, membersOf, stringOf } from '@lockkeeper/protocol/json/scan';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';

export interface Hearer {
  readonly revision: string;
  /** As declared at `initialize`, cut to the revision. */
  readonly capabilities: ClientCapabilities;
  /** Several servers behind one route: a context of "this server" would be another than is meant. */
  readonly aggregate: boolean;
}

export type LoweredQuestion =
  /** `params`: the object's text; null: the request has none. `url`: what the user is to open. */
  | { readonly kind: 'wire'; readonly params: Uint8Array | null; readonly url?: string }
  /** The raw input response that says so to the server. */
  | { readonly kind: 'answer'; readonly response: string }
  /** Words for the person that made the call. */
  | { readonly kind: 'missing'; readonly what: string };

export interface InputRequest {
  readonly key: string;
  readonly method: string;
  readonly bytes: Uint8Array;
  /** The request's own text, for telling whether it is the same. */
  readonly whole: Member;
  /** Null: none, or no object. */
  readonly params: Member | null;
}

export interface Round {
  /** Our seal; null when the answer came without. */
  readonly state: string | null;
  readonly requests: readonly InputRequest[];
}

/** `members` of the modern result. What is no request in there is left out: raise has judged it. */
export function readRound(members: Uint8Array): Round {
  const bytes = objectOf([members]);
  const top = membersOf(bytes, { start: 0, end: bytes.length });
  const asked = findMember(top, 'inputRequests');
  const requests = asked?.kind === 'object' ? membersOf(bytes, asked) : [];
  return {
    state: stringOf(bytes, findMember(top, 'requestState')) ?? null,
    requests: requests.flatMap((whole) => requestOf(bytes, whole) ?? []),
  };
}

function requestOf(bytes: Uint8Array, whole: Member): InputRequest | null {
  if (whole.kind !== 'object') return null;
  const members = membersOf(bytes, whole);
  const method = stringOf(bytes, findMember(members, 'method'));
  if (method === undefined) return null;
  const params = findMember(members, 'params');
  return { key: whole.key, method, bytes, whole, params: params?.kind === 'object' ? params : null };
}

export function paramsOf({ bytes, params }: InputRequest): Member[] {
  return params === null ? [] : membersOf(bytes, params);
}

export function textParam(request: InputRequest, key: string): string | undefined {
  return stringOf(request.bytes, findMember(paramsOf(request), key));
}
