// What went wrong on the way, as one of a few kinds and words for people. Words name the host, never a header or a path.

import { RemoteError, type RemoteFailure } from '../contract.ts';

export const GIVEN_UP = 'it was given up';

/** `sent`: the request was on its way into a connection when it failed. */
export function failureOf(error: unknown, host: string, sent: boolean): RemoteError {
  for (const one of causes(error)) {
    if (one instanceof RemoteError) return one;
    const { code } = one as { code?: unknown };
    const found = typeof code === 'string' ? byCode(code, host) : null;
    if (found !== null) return new RemoteError(found.kind, found.words, found.unsent !== true && sent);
  }
  if ((error as Error | null)?.name === 'AbortError') return new RemoteError('aborted', GIVEN_UP, sent);
  return new RemoteError('reset', `the exchange with ${host} failed`, sent);
}

interface Found {
  readonly kind: RemoteFailure;
  readonly words: string;
  readonly unsent?: true;
}

const TLS_CODE =
  /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|EPROTO|UNSUPPORTED_)/;
const UNREACHED = /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|ETIMEDOUT|EACCES|EPERM)$/;

function byCode(code: string, host: string): Found | null {
  if (/^(ENOTFOUND|EAI_.*|ENODATA)$/.test(code)) {
    return { kind: 'dns', words: `the name ${host} cannot be resolved (${code})`, unsent: true };
  }
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return { kind: 'connect', words: `no connection to ${host} came about in time`, unsent: true };
  }
  if (UNREACHED.test(code)) return { kind: 'connect', words: `${host} cannot be reached (${code})`, unsent: true };
  if (TLS_CODE.test(code)) {
    return { kind: 'tls', words: `${host} could not prove who it is, or TLS failed (${code})`, unsent: true };
  }
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return { kind: 'timeout', words: `${host} did not begin to answer in time` };
  if (code === 'UND_ERR_BODY_TIMEOUT') return { kind: 'timeout', words: `the reply of ${host} stopped coming` };
  if (/^(UND_ERR_HEADERS_OVERFLOW|HPE_HEADER_OVERFLOW)$/.test(code)) {
    return { kind: 'reset', words: `${host} answered with longer headers than http.maxHeaderBytes allows` };
  }
  if (code.startsWith('HPE_')) return { kind: 'reset', words: `${host} answered with something that is not HTTP` };
  if (/^(UND_ERR_ABORTED|UND_ERR_ABORT|ABORT_ERR|UND_ERR_DESTROYED|UND_ERR_CLOSED)$/.test(code)) {
    return { kind: 'aborted', words: GIVEN_UP };
  }
  if (/^(UND_ERR_SOCKET|ECONNRESET|EPIPE|ECONNABORTED)$/.test(code)) {
    return { kind: 'reset', words: `${host} closed the connection` };
  }
  return null;
}

/** The error, what it wraps, and what several attempts gave. */
function causes(error: unknown): unknown[] {
  const found: unknown[] = [];
  let rest: unknown[] = [error];
  while (rest.length > 0 && found.length < 16) {
    const one = rest.shift();
    if (typeof one !== 'object' || one === null) continue;
    found.push(one);
    rest = [...rest, ...(one instanceof AggregateError ? one.errors : []), (one as Error).cause];
  }
  return found;
}
