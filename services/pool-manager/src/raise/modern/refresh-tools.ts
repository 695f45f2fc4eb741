// Reads a server's whole tool list once more (protocol.md §4.3, -32020): by the transport it is learnt from on its way, so
// nothing is kept here. Several calls that were refused wait for one reading.

import { findMember, scan, textOf } from '@lockkeeper/protocol/json/scan';
import type { Side } from '../side.ts';

const MAX_PAGES = 100;
const PAGE_MS = 10_000;

export function createRefreshTools(side: () => Side): () => Promise<void> {
  let reading: Promise<void> | null = null;

  async function read(): Promise<void> {
    let cursor = '';
    for (let page = 0; page < MAX_PAGES; page++) {
      const answer = await side().ask('tools/list', cursor === '' ? '' : `"cursor":${cursor}`, PAGE_MS);
      if (answer.kind !== 'result') return;
      const next = findMember(scan(answer.bytes).members, 'nextCursor');
      if (next?.kind !== 'string') return;
      cursor = textOf(answer.bytes, next);
    }
  }

  return () => {
    reading ??= read().finally(() => {
      reading = null;
    });
    return reading;
  };
}
