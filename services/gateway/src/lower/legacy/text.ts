// JSON-RPC responses put together as bytes; the id is the client's own text (GB-080). Small ones are one piece; a large
// one is left in those it has, so that it is not copied.

import { bytesOf, concat } from '@lockkeeper/protocol/json/compose';
import type { Message } from './contract.ts';
import type { Parts } from './downlevel/edit.ts';

const COPIED_BYTES = 16 * 1024;

export function resultText(idText: string, result: Parts): Message {
  return joined([`{"jsonrpc":"2.0","id":${idText},"result":`, ...result, '}']);
}

/** A 2025-03-26 batch's answers as one body (protocol.md Part 7 #17). */
export function arrayText(responses: readonly Message[]): Message {
  const parts = responses.flatMap((response, i) => [i === 0 ? '[' : ',', ...piecesOf(response)]);
  return joined([...parts, ']']);
}

function piecesOf(message: Message): readonly Uint8Array[] {
  return message instanceof Uint8Array ? [message] : message;
}

function joined(parts: Parts): Message {
  if (!parts.some((part) => part.length > COPIED_BYTES)) return concat(parts);
  return parts.map((part) => (typeof part === 'string' ? bytesOf(part) : part));
}
