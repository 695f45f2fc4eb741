// Whether a server is still modern (protocol.md §4.2): one that was replaced by an older one refuses what it does not
// understand with 400, 404 or 405, with or without an error of its own time. `server/discover` tells.

import { concat } from '@lockkeeper/protocol/json/compose';
import { findMember } from '@lockkeeper/protocol/json/scan';
import { readError } from '../../raise/result/upstream-error.ts';
import { RemoteError } from '../contract.ts';
import type { RemoteHost } from '../host.ts';
import { readSaid } from '../incoming.ts';
import { type Outgoing, outgoing } from '../outgoing.ts';
import { wholeBody } from '../reply/body.ts';
import { mediaType, type Refusal } from '../reply/read-reply.ts';
import { requestHeaders } from './request-headers.ts';

const PROOF_MS = 5_000;
const MAX_BYTES = 1024 * 1024;
const REFUSALS: ReadonlySet<number | undefined> = new Set([400, 404, 405]);

export function looksOlder({ method }: Outgoing, { failure, answer }: Refusal): boolean {
  if (method === 'server/discover' || !REFUSALS.has(failure.status)) return false;
  const error = answer === null ? undefined : findMember(answer.found.members, 'error');
  if (answer === null || error === undefined) return true;
  // The range in which older transports have their refusals; none of them has a meaning for a modern one.
  const { code } = readError(answer.line, error);
  return code === null || (code <= -32_000 && code >= -32_019);
}

/** False only where the server says so. */
export async function isModern(host: RemoteHost, refused: Outgoing, signal: AbortSignal): Promise<boolean> {
  const done = new AbortController();
  const timer = host.clock.setTimer(PROOF_MS, () => done.abort());
  const meta = findMember(refused.params, '_meta');
  const own = meta === undefined ? '{}' : refused.bytes.subarray(meta.start, meta.end);
  const probe = outgoing(
    concat(['{"jsonrpc":"2.0","id":"lockkeeper","method":"server/discover","params":{"_meta":', own, '}}']),
  );
  try {
    const response = await host.door.send({
      method: 'POST',
      headers: requestHeaders(probe, { headersOf: () => undefined }),
      body: probe.bytes,
      signal: AbortSignal.any([signal, done.signal]),
    });
    if (REFUSALS.has(response.status)) {
      response.discard();
      return false;
    }
    const json = mediaType(response.headers.get('content-type')) === 'application/json';
    if (response.status !== 200 || !json) {
      response.discard();
      return true;
    }
    const body = await wholeBody(response, MAX_BYTES, host.valve);
    const said = body === null ? 'not-json' : readSaid(body);
    return typeof said === 'string' || findMember(said.found.members, 'error') === undefined;
  } catch (error) {
    if (error instanceof RemoteError) return true;
    throw error;
  } finally {
    timer.clear();
  }
}
