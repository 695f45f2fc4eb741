// The one place where a refusal becomes numbers and words on the wire (design §8): errors.ts holds the rows, nobody
// else picks a status or a code. Used by both legs. It never decides; it renders.
//   renderError(refusal, id, xid, era)  -> bytes of the whole JSON-RPC error message
//   toolErrorMembers(refusal, xid)      -> members and `_meta` members of a tools/call result with isError
//   refusesAsResult(method, refusal)    -> whether to use the second instead of the first
//   statusOf(refusal), retryHeaders(refusal)

import { bytesOf } from '@lockkeeper/protocol/json/compose';
import type { Era } from '@lockkeeper/protocol/mcp/revision';
import { type Refusal, row } from '../errors.ts';
import type { RequestId } from '../exchange.ts';

/** `id` as a value; undefined leaves it out (unreadable, modern and 2025-11-25), null writes null (older ones). */
export function renderError(
  refusal: Refusal,
  id: RequestId | null | undefined,
  xid: string,
  era: Era = 'modern',
): Uint8Array {
  return renderErrorText(refusal, id === undefined ? undefined : JSON.stringify(id), xid, era);
}

/** The same with the id's own JSON text, so that it is echoed byte for byte (GB-080). */
export function renderErrorText(
  refusal: Refusal,
  idText: string | undefined,
  xid: string,
  era: Era = 'modern',
): Uint8Array {
  const id = idText === undefined ? '' : `"id":${idText},`;
  const data = dataOf(refusal, xid);
  const error = `{"code":${codeOf(refusal, era)},"message":${JSON.stringify(wordsOf(refusal))}${data}}`;
  return bytesOf(`{"jsonrpc":"2.0",${id}"error":${error}}`);
}

/** In tools/call a crash, a loss and the like are results that the model can act on (design §8, GB-097). */
export function refusesAsResult(method: string, refusal: Refusal): boolean {
  return method === 'tools/call' && row(refusal.reason).toolResult === true;
}

export function toolErrorMembers(refusal: Refusal, xid: string): { members: Uint8Array; meta: string } {
  const text = JSON.stringify(wordsOf(refusal));
  return {
    members: bytesOf(`"content":[{"type":"text","text":${text}}],"isError":true`),
    meta: `"lockkeeper/reason":${JSON.stringify(refusal.reason)},"lockkeeper/exchange":${JSON.stringify(xid)}`,
  };
}

export function statusOf(refusal: Refusal): number {
  return row(refusal.reason).status;
}

export function retryHeaders(refusal: Refusal): Record<string, string> {
  if (row(refusal.reason).retry !== 'later' && refusal.retryAfterMs === undefined) return {};
  return { 'retry-after': String(Math.max(1, Math.ceil((refusal.retryAfterMs ?? 1000) / 1000))) };
}

/** What a stranger reads: what happened, then what to do next (design §8). */
export function wordsOf(refusal: Refusal): string {
  const { words, next: usual } = row(refusal.reason);
  const said = refusal.message ?? words;
  const next = refusal.next ?? usual;
  return next === undefined ? said : `${said} ${next}`;
}

/** Codes a modern client must never see (protocol.md §1.11, §2.12) are turned into those it may. */
export function codeOf(refusal: Refusal, era: Era): number {
  if (era === 'legacy') return refusal.legacyCode ?? refusal.code ?? row(refusal.reason).code;
  const code = refusal.code ?? row(refusal.reason).code;
  if (code === -32002) return -32602;
  const reserved = code <= -32000 && code >= -32099;
  return reserved && !(code <= -32020 && code >= -32022) ? -32603 : code;
}

/** Our own data is an object with the exchange id. An upstream's data stays as it came (GB-096). */
function dataOf(refusal: Refusal, xid: string): string {
  const mark = `"lockkeeper/exchange":${JSON.stringify(xid)}`;
  const data = refusal.data?.trim();
  if (data === undefined || data === '') return `,"data":{${mark}}`;
  if (refusal.reason === 'upstream' || !data.startsWith('{')) return `,"data":${data}`;
  const inner = data.slice(1, -1).trim();
  return `,"data":{${inner}${inner === '' ? '' : ','}${mark}}`;
}
