// Whether a session is still known (GB-004, GB-006): servers that lost theirs should say 404, and many say 400 with an
// error of their own, which looks like a bad request. A ping tells the two apart.

import { concat } from '@lockkeeper/protocol/json/compose';
import { RemoteError } from '../contract.ts';
import type { RemoteHost } from '../host.ts';
import type { Session } from './session.ts';

const PROOF_MS = 5_000;
const PING = concat(['{"jsonrpc":"2.0","id":"lockkeeper","method":"ping"}']);

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
    response.discard();
    return response.status !== 400 && response.status !== 404;
  } catch (error) {
    if (error instanceof RemoteError) return true;
    throw error;
  } finally {
    timer.clear();
  }
}
