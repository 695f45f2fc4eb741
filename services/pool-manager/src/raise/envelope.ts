// The parts of `_meta` that both eras are sent: our progress token, the caller's trace context, its vendor members
// (protocol.md §5.1, §5.2). Reserved names of the caller's never pass (§5.0 I8).

import { membersWithout } from '@lockkeeper/protocol/json/compose';
import { scan } from '@lockkeeper/protocol/json/scan';
import type { Open, TraceContext } from '@lockkeeper/protocol/link/frames';
import { META_PREFIX, PROGRESS_TOKEN } from '@lockkeeper/protocol/mcp/meta';

/** The token is the request's own id: unique among all that is open on the connection, of the usual type. */
export function commonMeta(head: Open, id: number): string {
  let meta = `"${PROGRESS_TOKEN}":${id}`;
  if (head.trace !== undefined) meta += traceMeta(head.trace);
  if (head.meta !== undefined && head.meta !== '') {
    const vendor = vendorOnly(head.meta);
    if (vendor !== '') meta += `,${vendor}`;
  }
  return meta;
}

function traceMeta(trace: TraceContext): string {
  let out = '';
  if (trace.traceparent !== undefined) out += `,"traceparent":${JSON.stringify(trace.traceparent)}`;
  if (trace.tracestate !== undefined) out += `,"tracestate":${JSON.stringify(trace.tracestate)}`;
  if (trace.baggage !== undefined) out += `,"baggage":${JSON.stringify(trace.baggage)}`;
  return out;
}

const OURS: ReadonlySet<string> = new Set([PROGRESS_TOKEN, 'traceparent', 'tracestate', 'baggage']);

/** The gateway has taken these out already; a second look costs nothing where none of the names occurs. */
function vendorOnly(meta: string): string {
  if (!meta.includes(META_PREFIX) && ![...OURS].some((key) => meta.includes(key)) && !meta.includes('\\')) return meta;
  const bytes = Buffer.from(`{${meta}}`);
  const kept = membersWithout(bytes, scan(bytes).members, (key) => key.startsWith(META_PREFIX) || OURS.has(key));
  return Buffer.from(kept).toString();
}
