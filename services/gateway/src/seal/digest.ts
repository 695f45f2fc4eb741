// The digest that ties a requestState to its request (protocol.md §5.5 "digest"): over canonical JSON of params
// without what may change between rounds. Numbers count as they were written, so two big integers that a double
// cannot tell apart still differ.

import { createHash } from 'node:crypto';
import { membersWithout, objectOf } from '@lockkeeper/protocol/json/compose';
import type { Member } from '@lockkeeper/protocol/json/scan';
import { stringify } from 'safe-stable-stringify';

const CHANGING: ReadonlySet<string> = new Set(['_meta', 'inputResponses', 'requestState']);

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Keeps a number's spelling; a string gets a mark, so that no string can pose as a number. */
const spelled: Reviver = (_key, value, context) => {
  if (typeof value === 'number') return `n${context.source ?? value}`;
  return typeof value === 'string' ? `s${value}` : value;
};

export function paramsDigest(method: string, bytes: Uint8Array, params: readonly Member[]): string {
  const kept = objectOf([membersWithout(bytes, params, (key) => CHANGING.has(key))]);
  const value: unknown = JSON.parse(Buffer.from(kept).toString(), spelled as (key: string, value: unknown) => unknown);
  return createHash('sha256')
    .update(`${method}\n${stringify(value) ?? ''}`)
    .digest('base64url');
}
