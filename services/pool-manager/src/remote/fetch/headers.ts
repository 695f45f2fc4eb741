// Which headers go to a server and which come back from it. Both are built from nothing: what the caller of the gateway
// sent has no way here (auth-security UP-1), and what is meant for one hop, or for a browser, ends here.

/** What the protocol itself sends; trace context is ours. Credentials are added by the door. */
const OURS = /^(accept|content-type|last-event-id|mcp-[a-z0-9-]+|traceparent|tracestate)$/;
const HOP =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|alt-svc|set-cookie|set-cookie2|strict-transport-security)$/;

export function requestHeaders(
  given: Readonly<Record<string, string>>,
  credentials: Readonly<Record<string, string>>,
  userAgent: string,
): Record<string, string> {
  const headers: Record<string, string> = { 'user-agent': userAgent, ...credentials };
  for (const [name, value] of Object.entries(given)) {
    if (OURS.test(name) && !Object.hasOwn(credentials, name)) headers[name] = value;
  }
  // A compressed answer would have to be bounded twice.
  headers['accept-encoding'] = 'identity';
  return headers;
}

export function responseHeaders(raw: Readonly<Record<string, string | string[] | undefined>>): Map<string, string> {
  const headers = new Map<string, string>();
  const named = new Set(
    textIn(raw.connection)
      .toLowerCase()
      .split(/\s*,\s*/),
  );
  for (const [name, value] of Object.entries(raw)) {
    if (value === undefined || HOP.test(name) || named.has(name)) continue;
    headers.set(name, textIn(value));
  }
  return headers;
}

function textIn(value: string | string[] | undefined): string {
  return Array.isArray(value) ? value.join(', ') : (value ?? '');
}
