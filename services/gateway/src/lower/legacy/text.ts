// JSON-RPC responses put together as bytes; the id is the client's own text (GB-080).

import { concat } from '@lockkeeper/protocol/json/compose';

export function resultText(idText: string, result: Uint8Array | string): Uint8Array {
  return concat(['{"jsonrpc":"2.0","id":', idText, ',"result":', result, '}']);
}

/** A 2025-03-26 batch's answers as one body (protocol.md Part 7 #17). */
export function arrayText(responses: readonly Uint8Array[]): Uint8Array {
  const parts: (Uint8Array | string)[] = ['['];
  responses.forEach((r, i) => {
    parts.push(i === 0 ? '' : ',', r);
  });
  parts.push(']');
  return concat(parts);
}
