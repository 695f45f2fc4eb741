// PLACE for resumption (protocol.md §3.4, design §4 "Legacy streams"): per-stream logs in the store, event ids
// `<stream>-<position>`, a holder lease per stream, joining in-flight exchanges after a GET with Last-Event-ID. Until
// then: a GET with Last-Event-ID is a fresh stream without replay, POST streams carry no event ids (so that no client
// tries to resume one), and only the standalone stream of 2025-11-25 begins with a priming event.

import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import type { SseStream } from '../../../http/contract.ts';

/** Older clients choke on empty data (protocol.md §3.2 "Priming event"). */
export function prime(stream: SseStream, revision: string, streamId: string): void {
  if (atLeast(revision, '2025-11-25')) stream.send('', { id: `${streamId}-0` });
}
