// A legacy server's -32042 for a legacy client that knows it (protocol.md §5.4): raise has made questions of it, here it
// is the error again, with ids of ours. The client asks the user and calls anew. Pure.

import { concat } from '@lockkeeper/protocol/json/compose';
import { URL_ELICITATION_REQUIRED } from '@lockkeeper/protocol/jsonrpc/codes';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import type { LegacyCall } from '../contract.ts';
import { inside } from '../downlevel/edit.ts';
import { readRound } from '../downlevel/input-request.ts';
import { lowerQuestion } from '../downlevel/question.ts';
import type { WireIds } from './wire-id.ts';

/** Null: this client does not know the error, or it is not about URLs alone. */
export function urlErrorResponse(call: LegacyCall, members: Uint8Array, wireIds: WireIds): Uint8Array | null {
  const { revision, capabilities } = call.caller;
  if (!atLeast(revision, '2025-11-25') || capabilities.elicitation?.url === undefined) return null;
  const elicitations: (Uint8Array | string)[] = [];
  for (const request of readRound(members).requests) {
    const lowered = lowerQuestion({ revision, capabilities, aggregate: call.ticket.route.aggregate }, request);
    if (lowered.kind !== 'wire' || lowered.params === null || lowered.url === undefined) return null;
    const id = wireIds.elicitation(wireIds.mark(call.xid, lowered.url));
    elicitations.push(elicitations.length === 0 ? '{' : ',{', inside(lowered.params), `,"elicitationId":"${id}"}`);
  }
  if (elicitations.length === 0) return null;
  const text = `"error":{"code":${URL_ELICITATION_REQUIRED},"message":"The server wants the user to open a URL first.",`;
  return concat([
    `{"jsonrpc":"2.0","id":${call.message.idText ?? 'null'},${text}"data":{"elicitations":[`,
    ...elicitations,
    ']}}}',
  ]);
}
