// Where an aggregate's names and URIs occur in what servers send (protocol.md §5.7 "Places to rewrite"), as edits on
// scanned spans: everything between them stays byte for byte. Free text, structuredContent and values of completions
// are nobody's URIs and stay as they are.

import { applyEdits, type Edit, objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, itemsOf, type Member, membersOf, type Span, stringOf } from '@lockkeeper/protocol/json/scan';
import { suffixUri } from '@lockkeeper/protocol/mcp/names';
import { type Item, LISTS, type ListKind } from '../catalogue/items.ts';

/** One item of a list, under its name in the aggregate. */
export function rewriteItem(kind: ListKind, item: Item, server: string, alias: string): Uint8Array {
  const { bytes } = item;
  const members = membersOf(bytes, wholeOf(bytes));
  const edits: Edit[] = [];
  const named = findMember(members, LISTS[kind].key);
  if (named !== undefined) edits.push({ start: named.start, end: named.end, text: JSON.stringify(alias) });
  metaEdits(bytes, members, server, edits);
  return applyEdits(bytes, edits);
}

/** Members of a call's result. */
export function rewriteResult(method: string, members: Uint8Array, server: string): Uint8Array {
  const find = FINDERS[method];
  if (find === undefined || members.length === 0) return members;
  const whole = objectOf([members]);
  const edits: Edit[] = [];
  find(whole, membersOf(whole, wholeOf(whole)), server, edits);
  return edits.length === 0 ? members : withoutBraces(applyEdits(whole, edits));
}

/** Vendor members of a result's `_meta`. */
export function rewriteMeta(meta: string | undefined, server: string): string | undefined {
  if (meta === undefined || !meta.includes('resourceUri')) return meta;
  const whole = objectOf([meta]);
  const edits: Edit[] = [];
  uiEdits(whole, membersOf(whole, wholeOf(whole)), server, edits);
  return edits.length === 0 ? meta : Buffer.from(withoutBraces(applyEdits(whole, edits))).toString();
}

/** A log message says whose it is by its logger. */
export function rewriteLog(members: Uint8Array, server: string): Uint8Array {
  const whole = objectOf([members]);
  const found = membersOf(whole, wholeOf(whole));
  const logger = findMember(found, 'logger');
  if (logger === undefined) {
    return withoutBraces(objectOf([`"logger":${JSON.stringify(server)}`, members]));
  }
  const own = stringOf(whole, logger);
  const text = JSON.stringify(own === undefined ? server : `${server}/${own}`);
  return withoutBraces(applyEdits(whole, [{ start: logger.start, end: logger.end, text }]));
}

/** `error.data.uri` names a resource as the caller knows it. */
export function rewriteErrorData(data: string | undefined, server: string): string | undefined {
  if (data === undefined || !data.trimStart().startsWith('{')) return data;
  const bytes = Buffer.from(data);
  const edits: Edit[] = [];
  uriEdit(bytes, findMember(membersOf(bytes, { start: bytes.indexOf('{'), end: bytes.length }), 'uri'), server, edits);
  return Buffer.from(applyEdits(bytes, edits)).toString();
}

type Finder = (bytes: Uint8Array, members: readonly Member[], server: string, edits: Edit[]) => void;

const FINDERS: Readonly<Record<string, Finder>> = {
  'tools/call': (bytes, members, server, edits) => {
    for (const span of arrayOf(bytes, findMember(members, 'content'))) contentEdits(bytes, span, server, edits);
  },
  'prompts/get': (bytes, members, server, edits) => {
    for (const message of arrayOf(bytes, findMember(members, 'messages'))) {
      const content = findMember(membersOf(bytes, message), 'content');
      if (content?.kind === 'object') contentEdits(bytes, content, server, edits);
      for (const span of arrayOf(bytes, content)) contentEdits(bytes, span, server, edits);
    }
  },
  'resources/read': (bytes, members, server, edits) => {
    for (const span of arrayOf(bytes, findMember(members, 'contents'))) resourceEdits(bytes, span, server, edits);
  },
};

/** One content block: a link, an embedded resource, or neither; `_meta` in any of them. */
function contentEdits(bytes: Uint8Array, span: Span, server: string, edits: Edit[]): void {
  const members = membersOf(bytes, span);
  const type = stringOf(bytes, findMember(members, 'type'));
  if (type === 'resource_link') uriEdit(bytes, findMember(members, 'uri'), server, edits);
  const resource = type === 'resource' ? findMember(members, 'resource') : undefined;
  if (resource?.kind === 'object') resourceEdits(bytes, resource, server, edits);
  metaEdits(bytes, members, server, edits);
}

function resourceEdits(bytes: Uint8Array, span: Span, server: string, edits: Edit[]): void {
  const members = membersOf(bytes, span);
  uriEdit(bytes, findMember(members, 'uri'), server, edits);
  metaEdits(bytes, members, server, edits);
}

function metaEdits(bytes: Uint8Array, members: readonly Member[], server: string, edits: Edit[]): void {
  const meta = findMember(members, '_meta');
  if (meta?.kind === 'object') uiEdits(bytes, membersOf(bytes, meta), server, edits);
}

/** MCP Apps: `_meta.ui.resourceUri` and its older spelling. */
function uiEdits(bytes: Uint8Array, meta: readonly Member[], server: string, edits: Edit[]): void {
  uriEdit(bytes, findMember(meta, 'ui/resourceUri'), server, edits);
  const ui = findMember(meta, 'ui');
  if (ui?.kind === 'object') uriEdit(bytes, findMember(membersOf(bytes, ui), 'resourceUri'), server, edits);
}

function uriEdit(bytes: Uint8Array, member: Member | undefined, server: string, edits: Edit[]): void {
  const uri = stringOf(bytes, member);
  if (member === undefined || uri === undefined) return;
  edits.push({ start: member.start, end: member.end, text: JSON.stringify(suffixUri(uri, server)) });
}

/** Object elements of an array member. */
function arrayOf(bytes: Uint8Array, member: Member | undefined): Span[] {
  return member?.kind === 'array' ? itemsOf(bytes, member).filter((item) => item.kind === 'object') : [];
}

function wholeOf(bytes: Uint8Array): Span {
  return { start: 0, end: bytes.length };
}

function withoutBraces(object: Uint8Array): Uint8Array {
  return object.subarray(1, object.length - 1);
}
