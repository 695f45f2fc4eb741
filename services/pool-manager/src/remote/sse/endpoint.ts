// Where a server of 2024-11-05 wants to be sent messages: relative to its own URL, and nowhere but at its own origin
// (protocol.md §4.5), or our credentials would go where it likes.

const MAX_LENGTH = 8192;

/** Null: not to be used. */
export function endpointOf(url: string, text: string): string | null {
  const named = text.trim();
  if (named === '' || named.length > MAX_LENGTH || !URL.canParse(named, url)) return null;
  const endpoint = new URL(named, url);
  if (endpoint.origin !== new URL(url).origin || endpoint.username !== '' || endpoint.password !== '') return null;
  endpoint.hash = '';
  return endpoint.href;
}
