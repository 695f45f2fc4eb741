// What the URL and the headers of a remote server may not hold. URLs are logged, so nothing in them may be worth keeping.

import { looksSecret, valueLooksSecret } from '../import/secrets.ts';

/** What HTTP, MCP or a proxy decides, never the operator. */
export const NOT_YOURS =
  /^(host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-.*|accept|accept-encoding|last-event-id|mcp-.*|proxy-.*|x-forwarded-.*|forwarded|x-real-ip|via|traceparent|tracestate|baggage)$/i;

/** Null: nothing is wrong with it. `shown`: as written, in quotes. */
export function urlFault(text: string, shown: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    return 'http.url must be a whole URL: give one like https://mcp.example.com/mcp';
  }
  if (url.username !== '' || url.password !== '') {
    return 'http.url holds a user or password, and URLs are logged: send it by http.headers instead';
  }
  if (url.hash !== '') return 'http.url ends in a fragment, which no server ever sees: take it out';
  // Past the host a reference can only stand for a secret, or might as well.
  const written = /^"[a-z]+:\/\/[^/?#]*(.*)"$/is.exec(shown)?.[1] ?? '';
  const secret = [...url.searchParams].some(([name, value]) => looksSecret(name, value));
  if (secret || /(?<!\$)\$\{(env|file):/.test(written) || url.pathname.split('/').some(valueLooksSecret)) {
    return 'http.url seems to hold a secret, and URLs are logged: send it by http.headers instead';
  }
  return null;
}
