// Where a redirect may lead: to the same origin, and for what is posted only by a status that keeps method and body.
// Credentials never go to another origin, so neither does the request (protocol.md §4.3 "Redirects").

import { RemoteError, type RemoteRequest } from '../contract.ts';

const MAX_HOPS = 3;

/** The next URL; null: no redirect. Throws RemoteError. */
export function redirectTarget(
  status: number,
  location: string | undefined,
  from: URL,
  method: RemoteRequest['method'],
  hops: number,
): URL | null {
  if (![301, 302, 303, 307, 308].includes(status)) return null;
  const keepsMethod = status === 307 || status === 308;
  // Of a 303 after a POST it is said that the work was done.
  const refuse = (why: string) => new RemoteError('redirect', `${from.host} ${why}`, !keepsMethod && method !== 'GET');
  if (location === undefined || !URL.canParse(location, from.href)) throw refuse('redirects to nowhere');
  const to = new URL(location, from);
  if (to.origin !== from.origin || to.username !== '' || to.password !== '') {
    throw refuse(`redirects to another origin, ${to.origin}: if that is meant, configure that URL`);
  }
  if (!keepsMethod && method !== 'GET')
    throw refuse(`redirects a ${method} by status ${status}: configure the right URL`);
  if (hops >= MAX_HOPS) throw refuse('redirects in a circle');
  return to;
}
