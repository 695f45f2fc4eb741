// The questions of an `input_required` before they reach the caller (protocol.md §2.8 #1–#4, §5.1): only what this
// request declared, and the few spans that must not go on as they are. A form, a URL, hints and limits stay byte for
// byte. Pure.

import { applyEdits, type Edit, objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, membersOf, ScanError, scan, stringOf } from '@lockkeeper/protocol/json/scan';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { covers } from '@lockkeeper/protocol/mcp/fingerprint';
import { askedBy, capabilityFor } from '@lockkeeper/protocol/mcp/questions';

export interface Asking {
  /** What was declared for this request, as the server was told. */
  readonly declared: ClientCapabilities;
  /** The server to be named in an elicitation's message; null where the node has named it (a legacy server). */
  readonly asker: string | null;
  /** The client's "this server" is this server and no other: a one-server route. */
  readonly alone: boolean;
}

export type Judged =
  | { readonly kind: 'fine'; readonly members: Uint8Array; readonly asks: boolean }
  | { readonly kind: 'breach'; readonly why: string };

/** A key that repeats could be read here in one way and by the client in another. */
const STRICT = { unique: true, maxDepth: 256 };

export function judgeQuestions(members: Uint8Array, asking: Asking): Judged {
  const whole = objectOf([members]);
  let requests: Member | undefined;
  try {
    requests = findMember(scan(whole, STRICT).members, 'inputRequests');
  } catch (error) {
    if (error instanceof ScanError) return breach(`inputRequests is not clean JSON: ${error.fault}`);
    throw error;
  }
  if (requests === undefined) return { kind: 'fine', members, asks: false };
  if (requests.kind !== 'object') return breach('inputRequests is not an object');
  const edits: Edit[] = [];
  for (const request of membersOf(whole, requests)) {
    const why = judgeOne(whole, request, asking, edits);
    if (why !== null) return breach(why);
  }
  const edited = edits.length === 0 ? whole : applyEdits(whole, edits);
  return { kind: 'fine', members: edited.subarray(1, edited.length - 1), asks: true };
}

function judgeOne(bytes: Uint8Array, request: Member, asking: Asking, edits: Edit[]): string | null {
  const members = request.kind === 'object' ? membersOf(bytes, request) : [];
  const method = stringOf(bytes, findMember(members, 'method'));
  const held = findMember(members, 'params');
  if (held !== undefined && held.kind !== 'object') return 'the params of a question are no object';
  const params = held === undefined ? [] : membersOf(bytes, held);
  const need = capabilityFor(method, bytes, params);
  if (need === null) return `inputRequests holds ${method === undefined ? 'something nameless' : method.slice(0, 60)}`;
  if (!covers(asking.declared, need)) return `it asks for ${wordsOf(need)}, which the client did not declare`;
  if (need.sampling !== undefined) contextEdit(bytes, params, asking, edits);
  return need.elicitation === undefined ? null : elicitation(bytes, params, asking, edits);
}

function elicitation(bytes: Uint8Array, params: readonly Member[], asking: Asking, edits: Edit[]): string | null {
  const url = findMember(params, 'url');
  if (stringOf(bytes, findMember(params, 'mode')) === 'url' && !isWeb(stringOf(bytes, url))) {
    return 'it asks to open a URL that is neither https nor http';
  }
  const message = findMember(params, 'message');
  const words = stringOf(bytes, message);
  if (message === undefined || words === undefined) return 'an elicitation has no message';
  if (asking.asker === null) return null;
  edits.push({ start: message.start, end: message.end, text: JSON.stringify(askedBy(asking.asker, words)) });
  return null;
}

/** The client's context must not reach a server by way of another (protocol.md §5.1 "sampling"). */
function contextEdit(bytes: Uint8Array, params: readonly Member[], asking: Asking, edits: Edit[]): void {
  const context = findMember(params, 'includeContext');
  const wanted = stringOf(bytes, context);
  if (context === undefined || wanted === 'none') return;
  const scoped = wanted === 'thisServer' && asking.alone && asking.declared.sampling?.context !== undefined;
  if (!scoped) edits.push({ start: context.start, end: context.end, text: '"none"' });
}

/** Scheme only (Part 6 #16); what it points to is the person's to judge, and no byte of it is changed. */
function isWeb(url: string | undefined): boolean {
  return url !== undefined && /^https?:\/\//i.test(url) && URL.canParse(url);
}

function wordsOf(need: ClientCapabilities): string {
  const [kind, parts] = Object.entries(need)[0] as [string, object];
  return [kind, ...Object.keys(parts)].join('.');
}

function breach(why: string): Judged {
  return { kind: 'breach', why };
}
