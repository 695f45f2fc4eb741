// Finds the parts of one JSON-RPC message inside a scanned body and says whether it is one (protocol.md §2.1 #9).
// Spans only: params are not parsed.

import {
  findMember,
  type Member,
  membersOf,
  parseSpan,
  type Span,
  stringOf,
  textOf,
} from '@lockkeeper/protocol/json/scan';
import type { RequestId } from '../exchange.ts';
import type { Located } from '../http/contract.ts';

/** `id` is there to be echoed as soon as it is a legal one, however wrong the rest (GB-080). */
export type Locating =
  | { readonly kind: 'message'; readonly message: Located }
  | { readonly kind: 'invalid'; readonly idText: string | undefined; readonly why: Why };

/** What is wrong, and where the usual advice would mislead, what to do instead. */
export type Why = readonly [words: string, next?: string];

/** `scanned`: the members of `params` and of its `_meta`, where the scan has them already. */
export function locate(
  bytes: Uint8Array,
  span: Span,
  members: readonly Member[],
  scanned?: Pick<Located, 'params' | 'meta'>,
): Locating {
  const idMember = findMember(members, 'id');
  const id = idMember === undefined ? null : idOf(bytes, idMember);
  const idText = idMember === undefined || id === null ? undefined : textOf(bytes, idMember);
  const invalid = (...why: Why): Locating => ({ kind: 'invalid', idText, why });

  if (stringOf(bytes, findMember(members, 'jsonrpc')) !== '2.0') return invalid('"jsonrpc" must be "2.0".');
  const methodMember = findMember(members, 'method');
  const answers = findMember(members, 'result') !== undefined || findMember(members, 'error') !== undefined;
  if (methodMember === undefined && answers) {
    return responseOf(bytes, span, members, id, idText) ?? invalid(...ONE_OUTCOME);
  }
  const method = stringOf(bytes, methodMember);
  if (method === undefined) return invalid('"method" must be a string.');
  if (answers) return invalid(...NO_OUTCOME);
  if (idMember !== undefined && id === null) return invalid('"id" must be a string or an integer.');
  const params = findMember(members, 'params');
  if (params !== undefined && params.kind !== 'object') return invalid(...PARAMS);
  return {
    kind: 'message',
    message: {
      bytes,
      kind: idMember === undefined ? 'notification' : 'request',
      method,
      id,
      idText: idText ?? null,
      members,
      params: params === undefined ? [] : (scanned?.params ?? membersOf(bytes, params)),
      meta: scanned?.meta,
      span,
    },
  };
}

const ONE_OUTCOME: Why = ['A response has either a result or an error.', 'Send exactly one of the two, and the id.'];
const NO_OUTCOME: Why = ['A request has neither a result nor an error.', 'Leave both out, or leave out the method.'];
const PARAMS: Why = ['"params" must be an object.', 'Name the parameters in an object, or leave params out.'];

/** An error response may carry `id: null`; its receiver can do nothing with it but take it. */
function responseOf(
  bytes: Uint8Array,
  span: Span,
  members: readonly Member[],
  id: RequestId | null,
  idText: string | undefined,
): Locating | null {
  const hasResult = findMember(members, 'result') !== undefined;
  const hasError = findMember(members, 'error') !== undefined;
  if (hasResult === hasError || (hasResult && id === null)) return null;
  const message: Located = {
    bytes,
    kind: 'response',
    method: null,
    id,
    idText: idText ?? null,
    members,
    params: [],
    span,
  };
  return { kind: 'message', message };
}

/** Integers beyond 2^53 are legal ids; their text is echoed, so nothing is lost. */
function idOf(bytes: Uint8Array, member: Member): RequestId | null {
  if (member.kind === 'string') return stringOf(bytes, member) ?? null;
  if (member.kind !== 'number') return null;
  const small = smallNumber(bytes, member);
  if (small !== null) return small;
  const value = parseSpan(bytes, member);
  return typeof value === 'number' && Number.isInteger(value) ? value : null;
}

/** Nearly every id: a few digits. */
function smallNumber(bytes: Uint8Array, { start, end }: Span): number | null {
  if (end - start > 15) return null;
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = bytes[i]! - 0x30;
    if (digit < 0 || digit > 9) return null;
    value = value * 10 + digit;
  }
  return value;
}
