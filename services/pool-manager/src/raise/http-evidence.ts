// Which HTTP statuses speak for an older server (protocol.md §4.2; 2503/http: "any 4xx may mean old transport"), and which
// say nothing of it: refused credentials, too many requests, and everything that is a fault of the server or the way.

const NO_EVIDENCE: ReadonlySet<number> = new Set([401, 402, 403, 407, 408, 421, 423, 425, 429, 451]);

export function speaksForOlder(status: number | undefined): status is number {
  return status !== undefined && status >= 400 && status < 500 && !NO_EVIDENCE.has(status);
}
