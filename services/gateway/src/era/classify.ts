// Which dialect is this body of, and is it JSON-RPC at all (protocol.md §2.1 #7–#11, §3.1). Pure: takes bytes and
// headers, returns a kind; never throws, never sees a socket. UTF-8 is judged before (http/body.ts).

import type { Limits, RouteSettings } from '@lockkeeper/protocol/config/settings';
import {
  type Inner,
  itemsOf,
  type Member,
  membersOf,
  ScanError,
  type Span,
  scan,
  textOf,
} from '@lockkeeper/protocol/json/scan';
import { HEADER } from '@lockkeeper/protocol/mcp/headers';
import { isModernRevision } from '@lockkeeper/protocol/mcp/revision';
import type { Reason, Refusal } from '../errors.ts';
import type { Headers, LegacyBody, Located } from '../http/contract.ts';
import { type Envelope, readEnvelope } from './envelope.ts';
import { locate, type Why } from './locate.ts';
import { servesLegacy } from './served.ts';

export type Classified =
  | { readonly kind: 'modern'; readonly message: Located; readonly envelope: Envelope }
  | { readonly kind: 'legacy'; readonly body: LegacyBody }
  | { readonly kind: 'refusal'; readonly refusal: Refusal; readonly idText: string | undefined };

export function classify(
  bytes: Uint8Array,
  headers: Headers,
  route: RouteSettings,
  limits: Pick<Limits, 'maxDepth' | 'maxBatch'>,
): Classified {
  const read = readBody(bytes, limits.maxDepth);
  if ('refusal' in read) return read;
  if (read.kind === 'array') return classifyBatch(bytes, read.span, headers, route, limits.maxBatch);
  if (read.kind !== 'object') return refuse('invalid-request', undefined);
  const found = locate(bytes, read.span, read.members, read);
  if (found.kind === 'invalid') return refuse('invalid-request', found.idText, ...found.why);
  return classifyMessage(found.message, headers, route);
}

/** The legacy message endpoint has no other era to choose; the same rules hold for what a message is. */
export function classifyLegacy(bytes: Uint8Array, limits: Pick<Limits, 'maxDepth' | 'maxBatch'>): Classified {
  const read = readBody(bytes, limits.maxDepth);
  if ('refusal' in read) return read;
  if (read.kind === 'array') return locateBatch(bytes, read.span, limits.maxBatch);
  if (read.kind !== 'object') return refuse('invalid-request', undefined);
  const found = locate(bytes, read.span, read.members, read);
  if (found.kind === 'invalid') return refuse('invalid-request', found.idText, ...found.why);
  return { kind: 'legacy', body: { kind: 'single', message: found.message } };
}

function classifyMessage(message: Located, headers: Headers, route: RouteSettings): Classified {
  const envelope = readEnvelope(message);
  const legacyServed = servesLegacy(route);
  const version = headers[HEADER.version];
  const modernHeader = typeof version === 'string' && isModernRevision(version);
  if (message.kind === 'response') {
    const mayBeLegacy = legacyServed && !modernHeader && headers[HEADER.session] !== undefined;
    return mayBeLegacy ? legacy(message) : refuse('invalid-request', undefined, ...UNASKED);
  }
  const modern: Classified = { kind: 'modern', message, envelope };
  if (envelope.modern) return modern;
  if (message.method === 'initialize' && legacyServed) {
    return modernHeader ? refuse('header-mismatch', message.idText ?? undefined, CONTRADICTION) : legacy(message);
  }
  return modernHeader || !legacyServed ? modern : legacy(message);
}

/** protocol.md §3.1: `initialize` opens a legacy session, the header promises a revision that has none. */
const CONTRADICTION = 'MCP-Protocol-Version names a revision without initialize, and the body has no modern envelope.';

function legacy(message: Located): Classified {
  return { kind: 'legacy', body: { kind: 'single', message } };
}

/** Arrays exist in 2025-03-26 only; the legacy leg holds them against the session's revision (protocol.md §3.6). */
function classifyBatch(
  bytes: Uint8Array,
  span: Span,
  headers: Headers,
  route: RouteSettings,
  maxBatch: number,
): Classified {
  const version = headers[HEADER.version];
  const modernHeader = typeof version === 'string' && isModernRevision(version);
  if (modernHeader || !servesLegacy(route)) return refuse('invalid-request', undefined, ...NO_ARRAYS);
  return locateBatch(bytes, span, maxBatch);
}

const NO_ARRAYS: Why = ['This revision has no batches.', 'Send one message a POST.'];
const UNASKED: Why = ['Nothing was asked of this client.', 'Send requests and notifications only.'];
const EMPTY: Why = ['The batch is empty.', 'Put at least one message into it.'];
const TOO_MANY: Why = ['The batch is larger than limits.maxBatch.', 'Send smaller ones.'];
const NO_MESSAGE: Why = ['An element of the batch is no object.', 'Send JSON-RPC messages only.'];

function locateBatch(bytes: Uint8Array, span: Span, maxBatch: number): Classified {
  const items = itemsOf(bytes, span);
  if (items.length === 0) return refuse('invalid-request', undefined, ...EMPTY);
  if (items.length > maxBatch) return refuse('invalid-request', undefined, ...TOO_MANY);
  const messages: Located[] = [];
  for (const item of items) {
    if (item.kind !== 'object') return refuse('invalid-request', undefined, ...NO_MESSAGE);
    const found = locate(bytes, item, membersOf(bytes, item));
    if (found.kind === 'invalid') return refuse('invalid-request', undefined, ...found.why);
    if (readEnvelope(found.message).modern) return refuse('invalid-request', undefined, ...NO_ARRAYS);
    messages.push(found.message);
  }
  return { kind: 'legacy', body: { kind: 'batch', messages } };
}

type Body = {
  readonly kind: string;
  readonly span: Span;
  readonly members: readonly Member[];
  readonly params: readonly Member[];
  readonly meta: readonly Member[];
};

/** Design ruling 1: a key that repeats, anywhere, is refused before anyone can disagree about which one counts. */
function readBody(bytes: Uint8Array, maxDepth: number): Body | Extract<Classified, { kind: 'refusal' }> {
  try {
    const meta: Inner = { key: '_meta', members: [] };
    const params: Inner = { key: 'params', members: [], within: meta };
    const { kind, span, members } = scan(bytes, { unique: true, maxDepth }, params);
    return { kind, span, members, params: params.members, meta: meta.members };
  } catch (error) {
    if (!(error instanceof ScanError)) throw error;
    if (error.fault === 'syntax') return refuse('parse', undefined);
    return refuse('invalid-request', readableId(bytes), ...FAULTS[error.fault]);
  }
}

/** The id of a message that is refused for a key or its depth: echoed when there is just one (protocol.md §2.1 #9). */
function readableId(bytes: Uint8Array): string | undefined {
  try {
    const { members } = scan(bytes);
    const ids = members.filter(({ key }) => key === 'id');
    const id = ids[0];
    if (ids.length !== 1 || id === undefined || (id.kind !== 'string' && id.kind !== 'number')) return undefined;
    return textOf(bytes, id);
  } catch {
    // Not readable as JSON at all, or nested beyond any limit: no id to speak of.
    return undefined;
  }
}

const FAULTS: Readonly<Record<'duplicate-key' | 'forbidden-key' | 'too-deep', Why>> = {
  'duplicate-key': ['An object repeats a key.', 'Write each key once.'],
  'forbidden-key': ['An object has the key "__proto__".', 'Leave it out.'],
  'too-deep': ['The body is nested deeper than limits.maxDepth.', 'Send less deeply nested values.'],
};

function refuse(reason: Reason, idText: string | undefined, message?: string, next?: string) {
  const refusal: Refusal = {
    reason,
    ...(message === undefined ? {} : { message }),
    ...(next === undefined ? {} : { next }),
  };
  return { kind: 'refusal' as const, refusal, idText };
}
