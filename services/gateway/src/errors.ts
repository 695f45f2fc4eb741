// The gateway's catalogue of refusals (design §8): reason, whose fault, HTTP status and JSON-RPC code on the modern
// leg, whether a retry can help, and the words. http/refuse.ts is the only reader of status and code; nobody else
// picks numbers. protocol.md §2.12 is the list of codes a modern client may see; our own start at 10000. ops/errors.md
// is the same table for readers.

export type Blame = 'client' | 'operator' | 'upstream' | 'us';

interface Row {
  readonly blame: Blame;
  readonly status: number;
  readonly code: number;
  /** In tools/call this becomes a tool result with isError (design §8). */
  readonly toolResult?: boolean;
  readonly retry: 'never' | 'later' | 'new-request';
  readonly words: string;
  /** What to do next; said after the words, also after a message of the raiser's own. */
  readonly next?: string;
}

export const CATALOGUE = {
  // protocol.md §2.1, in ladder order
  origin: {
    blame: 'client',
    status: 403,
    code: -32600,
    retry: 'never',
    words: 'This Origin is not on the allow-list (listen.allowedOrigins).',
  },
  host: {
    blame: 'client',
    status: 421,
    code: -32600,
    retry: 'never',
    words: 'This Host is not one of ours (listen.allowedHosts).',
  },
  verb: {
    blame: 'client',
    status: 405,
    code: -32600,
    retry: 'never',
    words: 'This HTTP method is not taken at this path.',
    next: 'Use one that the Allow header names.',
  },
  'media-type': {
    blame: 'client',
    status: 415,
    code: -32600,
    retry: 'never',
    words: 'Content-Type must be application/json.',
  },
  'content-encoding': {
    blame: 'client',
    status: 415,
    code: -32600,
    retry: 'never',
    words: 'Send the body without Content-Encoding.',
  },
  'too-large': {
    blame: 'client',
    status: 413,
    code: -32600,
    retry: 'never',
    words: 'The request body is larger than limits.maxBodyBytes allows.',
  },
  'not-acceptable': {
    blame: 'client',
    status: 406,
    code: -32600,
    retry: 'never',
    words: 'Accept must allow application/json or text/event-stream.',
  },
  parse: {
    blame: 'client',
    status: 400,
    code: -32700,
    retry: 'never',
    words: 'The body is not valid JSON in UTF-8.',
    next: 'Send one JSON-RPC message as UTF-8 JSON without a byte order mark.',
  },
  'invalid-request': {
    blame: 'client',
    status: 400,
    code: -32600,
    retry: 'never',
    words: 'Not a single valid JSON-RPC 2.0 request or notification.',
    next: 'Send one object with "jsonrpc": "2.0", a method, and for a request an id that is a string or an integer.',
  },
  'header-mismatch': {
    blame: 'client',
    status: 400,
    code: -32020,
    retry: 'new-request',
    words: 'A header does not match the body.',
    next: 'Make every Mcp-* header equal to the body it goes with.',
  },
  envelope: {
    blame: 'client',
    status: 400,
    code: -32602,
    retry: 'never',
    words: 'params._meta lacks a required field.',
    next: 'Put io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities into params._meta.',
  },
  revision: {
    blame: 'client',
    status: 400,
    code: -32022,
    retry: 'new-request',
    words: 'Unsupported protocol version.',
    next: 'Use one of data.supported.',
  },
  'unknown-method': {
    blame: 'client',
    status: 404,
    code: -32601,
    retry: 'never',
    words: 'Method not found.',
    next: 'Use one of the revision spoken, and of a capability declared here.',
  },
  'invalid-params': { blame: 'client', status: 200, code: -32602, retry: 'never', words: 'Invalid params.' },
  'unknown-name': { blame: 'client', status: 200, code: -32602, retry: 'never', words: 'Unknown name.' },
  'unknown-resource': { blame: 'client', status: 200, code: -32602, retry: 'never', words: 'Resource not found.' },
  'unknown-task': {
    blame: 'client',
    status: 200,
    code: -32602,
    retry: 'never',
    words: 'Task not found.',
  },
  'bad-cursor': {
    blame: 'client',
    status: 200,
    code: -32602,
    retry: 'new-request',
    words: 'This cursor is not valid (any more); list again from the start.',
  },
  'bad-state': {
    blame: 'client',
    status: 200,
    code: -32602,
    retry: 'new-request',
    words:
      'requestState is not valid (any more), and what it belongs to may have run already. To start again, send the request without it.',
  },
  'no-client': {
    blame: 'operator',
    status: 200,
    code: 10016,
    toolResult: true,
    retry: 'never',
    words: 'The access token names no client program, so a question of the server cannot be kept for it.',
    next: 'Tell the operator: claims.client of the issuer must name a claim that its tokens have.',
  },
  revoked: {
    blame: 'operator',
    status: 200,
    code: 10017,
    toolResult: true,
    retry: 'never',
    words:
      'The operator has taken away the route, the server or the permission while this ran; it may have run in part.',
    next: 'Check what it did; ask the operator whether this is meant to be.',
  },
  capability: {
    blame: 'client',
    status: 400,
    code: -32021,
    retry: 'new-request',
    words: 'The client lacks a capability that this request needs.',
    next: 'Declare data.requiredCapabilities in io.modelcontextprotocol/clientCapabilities.',
  },
  // legacy leg (protocol.md §3.1, §5.3)
  'cannot-ask': {
    blame: 'client',
    status: 200,
    code: 10014,
    toolResult: true,
    retry: 'never',
    words: 'The server asks for something that this client cannot be asked.',
    next: 'Use a client that offers it, or a tool that does not ask.',
  },
  'session-missing': {
    blame: 'client',
    status: 400,
    code: -32600,
    retry: 'new-request',
    words: 'Send initialize first, or the Mcp-Session-Id header it answered with.',
  },
  'session-unknown': {
    blame: 'client',
    status: 404,
    code: -32600,
    retry: 'new-request',
    words: 'Session not found; initialize again.',
  },
  // upstream errors that may be shown
  upstream: {
    blame: 'upstream',
    status: 200,
    code: -32603,
    retry: 'never',
    words: 'The server answered with an error.',
  },
  // ours (design §8)
  unavailable: {
    blame: 'us',
    status: 503,
    code: 10001,
    toolResult: true,
    retry: 'later',
    words: 'No pool manager can take this call now.',
    next: 'Try again in a moment; if it lasts, tell the operator.',
  },
  busy: {
    blame: 'us',
    status: 503,
    code: 10002,
    toolResult: true,
    retry: 'later',
    words: 'All processes of this server are busy.',
    next: 'Try again in a moment.',
  },
  'start-failed': {
    blame: 'upstream',
    status: 200,
    code: 10003,
    toolResult: true,
    retry: 'later',
    words: 'The server could not be started.',
    next: 'Tell the operator; the reason is in the log under this exchange id.',
  },
  'upstream-denied': {
    blame: 'operator',
    status: 200,
    code: 10018,
    toolResult: true,
    retry: 'never',
    words: 'The server does not accept Lockkeeper’s credentials.',
    next: 'Tell the operator, who must set valid ones for it; to sign in again does not help.',
  },
  timeout: {
    blame: 'upstream',
    status: 200,
    code: 10004,
    toolResult: true,
    retry: 'never',
    words: 'The server did not answer in time.',
    next: 'A call may have run in part: check before calling again.',
  },
  lost: {
    blame: 'upstream',
    status: 200,
    code: 10005,
    toolResult: true,
    retry: 'never',
    words: 'The server was lost during the call; it may have run in part.',
    next: 'Check what it did before calling again.',
  },
  'upstream-protocol': {
    blame: 'upstream',
    status: 200,
    code: -32603,
    toolResult: true,
    retry: 'never',
    words: 'The server broke the protocol.',
    next: 'Tell the operator; the details are in the log under this exchange id.',
  },
  'result-too-large': {
    blame: 'upstream',
    status: 200,
    code: 10006,
    toolResult: true,
    retry: 'never',
    words: "The server's answer is larger than the limit.",
    next: 'Ask for less at a time.',
  },
  'too-slow': { blame: 'client', status: 200, code: 10007, retry: 'never', words: 'The client read too slowly.' },
  cancelled: { blame: 'client', status: 200, code: 10008, retry: 'never', words: 'The request was cancelled.' },
  'too-many': {
    blame: 'client',
    status: 429,
    code: 10009,
    retry: 'later',
    words: 'Too many requests in flight for this caller.',
    next: 'Wait for one of them to end.',
  },
  // before the body is read (auth-security.md RS-6)
  'no-token': {
    blame: 'client',
    status: 401,
    code: 10011,
    retry: 'new-request',
    words: 'This endpoint needs an access token.',
    next: 'Get one as the WWW-Authenticate header tells and send it in the Authorization header.',
  },
  'bad-token': {
    blame: 'client',
    status: 401,
    code: 10012,
    retry: 'new-request',
    words: 'The access token is not valid here.',
    next: 'Get a new one as the WWW-Authenticate header tells.',
  },
  'bad-credentials': {
    blame: 'client',
    status: 400,
    code: 10013,
    retry: 'never',
    words: 'Send exactly one access token, in the Authorization header.',
  },
  unreadable: {
    blame: 'us',
    status: 503,
    code: 10010,
    retry: 'later',
    words: 'Shared state cannot be read now.',
    next: 'Try again in a moment.',
  },
  internal: {
    blame: 'us',
    status: 500,
    code: -32603,
    retry: 'later',
    words: 'Internal error.',
    next: 'Try again; if it lasts, tell the operator the exchange id.',
  },
} as const satisfies Record<string, Row>;

export type Reason = keyof typeof CATALOGUE;

/** A refusal is a value (style habit 3). `message` is what a stranger may see; nothing secret, nothing of a tenant. */
export interface Refusal {
  readonly reason: Reason;
  /** Defaults to the row's words. */
  readonly message?: string;
  /** Overrides the row's `next`, where what happened asks for something else. */
  readonly next?: string;
  /** Overrides the row's code: relayed upstream application codes only. */
  readonly code?: number;
  /** Raw JSON text of `error.data`. */
  readonly data?: string;
  /** For a legacy caller where it differs (-32002, protocol.md §5.3). */
  readonly legacyCode?: number;
  readonly retryAfterMs?: number;
}

export function row(reason: Reason): Row {
  return CATALOGUE[reason];
}
