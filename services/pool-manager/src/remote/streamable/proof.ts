// Whether a session is still known (GB-004, GB-006): servers that lost theirs should say 404, and many say 400 with an
// error of their own, which looks like a bad request; so does a server that has become modern. Others say 404 of whatever
// they do not have. A ping tells them apart.

import { bytesOf } from '@lockkeeper/protocol/json/compose';
import { findMember } from '@lockkeeper/protocol/json/scan';
import { INVALID_REQUEST, METHOD_NOT_FOUND } from '@lockkeeper/protocol/jsonrpc/codes';
import { readError } from '../../raise/result/upstream-error.ts';
import { RemoteError } from '../contract.ts';
import type { RemoteHost } from '../host.ts';
import type { Said } from '../incoming.ts';
import { type Refusal, readRefusal } from '../reply/read-reply.ts';
import type { Session } from './session.ts';

const PROOF_MS = 5_000;
/** What servers say of a session that they do not know, the published SDKs among them. */
const OF_SESSIONS: ReadonlySet<number | null> = new Set([null, INVALID_REQUEST, -32_000, -32_001]);
const PING = bytesOf('{"jsonrpc":"2.0","id":0,"method":"ping"}');

/**
 * Whether a 404 may be said of what the request asks for: its error names the request, and not by a code that is of
 * sessions. Those are not doubted, as the ping may come to another instance than the request (GB-002).
 */
export function speaksOfRequest({ answer, own }: Refusal): boolean {
  return own && !OF_SESSIONS.has(codeIn(answer));
}

/** False only where the server says so. */
export async function isAlive(host: RemoteHost, session: Session, signal: AbortSignal): Promise<boolean> {
  const done = new AbortController();
  const timer = host.clock.setTimer(PROOF_MS, () => done.abort());
  try {
    const response = await host.door.send({
      method: 'POST',
      headers: session.postHeaders(),
      body: PING,
      signal: AbortSignal.any([signal, done.signal]),
    });
    if (response.status !== 400) {
      response.discard();
      return response.status !== 404;
    }
    const { answer } = await readRefusal(host, response, 0);
    // It has no ping, and says so within the session.
    return codeIn(answer) === METHOD_NOT_FOUND;
  } catch (error) {
    if (error instanceof RemoteError) return true;
    throw error;
  } finally {
    timer.clear();
  }
}

function codeIn(answer: Said | null): number | null {
  const error = answer === null ? undefined : findMember(answer.found.members, 'error');
  return answer === null || error === undefined ? null : readError(answer.line, error).code;
}
