// A reply's body as one piece, up to a bound.

import type { RemoteResponse } from '../contract.ts';
import type { Valve } from '../valve.ts';

/** Null: it is longer, and was discarded. Throws RemoteError. */
export async function wholeBody(response: RemoteResponse, maxBytes: number, valve: Valve): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      response.discard();
      return null;
    }
    chunks.push(chunk);
  }
  if (valve.opened !== null) await valve.opened;
  // Always a copy: it is written into, and its chunks may be somebody's.
  return Buffer.concat(chunks, bytes);
}
