// What a 2025-03-26 batch may hold (protocol.md §3.6). Size and emptiness were judged when it was read.

import { idKey } from '@lockkeeper/protocol/jsonrpc/message';
import type { Refusal } from '../../../errors.ts';
import type { Located } from '../../../http/contract.ts';

export function checkBatch(messages: readonly Located[], revision: string): Refusal | null {
  if (revision !== '2025-03-26') return invalid('This session’s revision has no batches.', 'Send one message a POST.');
  if (messages.length === 0) return invalid('The batch is empty.', 'Put at least one message into it.');
  const responses = messages.filter((m) => m.kind === 'response').length;
  if (responses > 0 && responses < messages.length)
    return invalid('Responses and requests do not go in one batch.', 'Send two.');
  if (messages.some((m) => m.method === 'initialize'))
    return invalid('initialize does not go in a batch.', 'Send it alone, before anything else.');
  const ids = messages.filter((m) => m.kind === 'request').map((m) => idKey(m.id ?? ''));
  return new Set(ids).size === ids.length
    ? null
    : invalid('Two requests of one batch have the same id.', 'Give each an id of its own.');
}

function invalid(message: string, next: string): Refusal {
  return { reason: 'invalid-request', message, next };
}
