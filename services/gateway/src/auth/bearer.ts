// Takes the one bearer token out of a request's head (auth-security.md RS-6, RS-13): the Authorization header and
// nothing else. Never looks into the token.

export type Bearer =
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'none' }
  /** Two tokens, or one in the query: which one counts is nothing to guess (GB-116). */
  | { readonly kind: 'ambiguous'; readonly why: 'two-headers' | 'query' }
  | { readonly kind: 'malformed'; readonly why: 'length' | 'parts' };

const MAX_TOKEN = 8 * 1024;
const PARTS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** The last good one of each connection: it mostly comes again as it was. */
const last = new WeakMap<object, { readonly header: string; readonly bearer: Bearer }>();

/** `rawHeaders` because Node keeps only the first of two Authorization headers. */
export function readBearer(rawHeaders: readonly string[], query: string, connection?: object): Bearer {
  if (query !== '' && /(?:^|&)access_token=/i.test(query)) return { kind: 'ambiguous', why: 'query' };
  let header: string | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length !== 13 || name.toLowerCase() !== 'authorization') continue;
    if (header !== undefined) return { kind: 'ambiguous', why: 'two-headers' };
    header = rawHeaders[i + 1];
  }
  if (header === undefined) return { kind: 'none' };
  const before = connection === undefined ? undefined : last.get(connection);
  if (before !== undefined && before.header === header) return before.bearer;
  const bearer = bearerOf(header);
  if (connection !== undefined && bearer.kind === 'token') last.set(connection, { header, bearer });
  return bearer;
}

function bearerOf(header: string): Bearer {
  if (header.slice(0, 7).toLowerCase() !== 'bearer ') return { kind: 'none' };
  const token = header.slice(7).trim();
  if (token.length > MAX_TOKEN) return { kind: 'malformed', why: 'length' };
  return PARTS.test(token) ? { kind: 'token', token } : { kind: 'malformed', why: 'parts' };
}
