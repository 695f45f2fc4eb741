// A change as a legacy client reads it: a notification without a subscription's id (protocol.md §5.3).

import type { News } from '../../listen/contract.ts';

export function newsText(news: News): string {
  if (news.kind === 'list') return `{"jsonrpc":"2.0","method":"notifications/${news.list}/list_changed"}`;
  const params = `{"uri":${JSON.stringify(news.uri)}}`;
  return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":${params}}`;
}
