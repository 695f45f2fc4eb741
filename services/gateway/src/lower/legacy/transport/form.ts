// Which form of reply this client takes (protocol.md §2.4, §3.2). SSE only for one that names it: a wildcard is a
// client that reads JSON (GB-147). Null: neither form, 406.

import type { Headers, HttpOut } from '../../../http/contract.ts';

export type Form = 'json' | 'either' | 'sse';

export function formOf(out: Pick<HttpOut, 'accepts'>, headers: Headers): Form | null {
  const { json, sse } = out.accepts;
  if (!sse) return json ? 'json' : null;
  if (!json) return 'sse';
  return namesStreams(headers.accept) ? 'either' : 'json';
}

function namesStreams(accept: string | string[] | undefined): boolean {
  const text = Array.isArray(accept) ? accept.join(',') : accept;
  return text === undefined || /text\/(event-stream|\*)/i.test(text);
}
