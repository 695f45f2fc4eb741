// Whether a session is still known (GB-004, GB-006): servers that lost theirs should say 404, and many say 400 with an
// error of their own, which looks like a bad request; so does a server that has become modern. A ping tells them apart.

import { bytesOf } from '@lockkeeper/protocol/json/compose';
import { findMember } from '@lockkeeper/protocol/json/scan';
import { METHOD_NOT_FOUND } from '@lockkeeper/protocol/jsonrpc/codes';
import { readError } from '../../raise/result/upstream-error.ts';
import { RemoteError } from '../contract.ts';
import type { RemoteHost } from '../host.ts';
import { readRefusal } from '../reply/read-reply.ts';
import type { Session } from './session.ts';

const PROOF_MS = 5_000;
const PING = bytesOf('{"jsonrpc":"2.0","id":0,"method":"ping"}');

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
    const error = answer === null ? undefined : findMember(answer.found.members, 'error');
    // It has no ping, and says so within the session.
    return error !== undefined && readError(answer!.line, error).code === METHOD_NOT_FOUND;
  } catch (error) {
    if (error instanceof RemoteError) return true;
    throw error;
  } finally {
    timer.clear();
  }
}
