// Refusals in the shape that legacy clients know (protocol.md §5.3): what only the modern wire can say becomes words
// or -32603, a missing resource is -32002, and the id of an unreadable request is null before 2025-11-25 (Part 7 #5).
// Numbers and words are those of http/refuse.ts.

import { INTERNAL_ERROR, RESOURCE_NOT_FOUND } from '@lockkeeper/protocol/jsonrpc/codes';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import { type Refusal, row } from '../../errors.ts';
import type { HttpOut } from '../../http/contract.ts';
import { refusesAsResult, renderErrorText, retryHeaders, statusOf, toolErrorMembers } from '../../http/refuse.ts';
import type { Message } from './contract.ts';
import { resultText } from './text.ts';

/** The response to one request that was refused behind the leg. HTTP has been or will be 200 (GB-096). */
export function refusalResponse(refusal: Refusal, method: string, idText: string, xid: string): Message {
  if (refusesAsResult(method, refusal) || (method === 'tools/call' && refusal.reason === 'capability')) {
    const { members, meta } = toolErrorMembers(refusal, xid);
    return resultText(idText, ['{', members, `,"_meta":{${meta}}}`]);
  }
  return renderErrorText(asLegacy(refusal), idText, xid, 'legacy');
}

function asLegacy(refusal: Refusal): Refusal {
  if (refusal.legacyCode !== undefined) return refusal;
  if (refusal.reason === 'unknown-resource') return { ...refusal, legacyCode: RESOURCE_NOT_FOUND };
  const code = refusal.code ?? row(refusal.reason).code;
  // -32020, -32021, -32022 are handled inside and never shown (protocol.md §5.3).
  return code <= -32020 && code >= -32022 ? { ...refusal, legacyCode: INTERNAL_ERROR } : refusal;
}

/** A refusal of the whole HTTP request, by the leg itself. `idText`: that of the one request it carries, if any. */
export function refuse(out: HttpOut, refusal: Refusal, xid: string, idText: string | undefined): void {
  out.refused?.(refusal.reason, statusOf(refusal));
  writeRefusal(out, refusal, xid, idText);
}

/** The same of an exchange that has a row of its own. */
export function writeRefusal(out: HttpOut, refusal: Refusal, xid: string, idText: string | undefined): void {
  out.json(statusOf(refusal), renderErrorText(refusal, idText, xid, 'legacy'), retryHeaders(refusal));
}

/** The id text for an error about no readable request: left out for 2025-11-25, null for older ones. */
export function absentId(revision: string | undefined): string | undefined {
  return revision === undefined || atLeast(revision, '2025-11-25') ? undefined : 'null';
}
