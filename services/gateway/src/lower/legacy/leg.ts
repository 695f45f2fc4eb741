// The legacy leg (protocol.md Part 3): verbs in, sessions and calls behind, one reply out. Put together here; each
// file beside it does one part. It holds sockets and calls in flight only, everything else is in the store.

import type { ConfigSource } from '@lockkeeper/protocol/config/settings';
import { HEADER } from '@lockkeeper/protocol/mcp/headers';
import type { Authenticated } from '../../exchange.ts';
import type { Headers, HttpOut, LegacyLeg } from '../../http/contract.ts';
import { createAttachments } from '../../session/attachments.ts';
import { createHints } from '../../session/hints.ts';
import { createInFlight } from '../../session/in-flight.ts';
import type { Session } from '../../session/record.ts';
import { createSessions } from '../../session/sessions.ts';
import type { LegacyDeps } from './contract.ts';
import { createForward } from './forward.ts';
import { createGate } from './gate.ts';
import { createHandle } from './handle.ts';
import { createInitialize } from './initialize.ts';
import { createNotify } from './notify.ts';
import { refuse } from './refusal.ts';
import { createSubscriptions } from './subscriptions.ts';
import { createHttpSse } from './transport/http-sse.ts';
import { createOutbox } from './transport/outbox.ts';
import { createPost } from './transport/post.ts';
import { createStandalone } from './transport/standalone.ts';

export interface RunningLegacyLeg extends LegacyLeg {
  /** Begins to hear other replicas' hints and to keep sessions with something attached alive. */
  start(): Promise<void>;
}

export function createLegacyLeg(deps: LegacyDeps): RunningLegacyLeg {
  const { store, clock, config, random } = deps;
  const failed = (what: string, error: unknown): void => deps.log.warn('legacy leg', { hint: what, error });
  const hints = createHints(store, (error) => failed('hint', error));
  const sessions = createSessions({ store, config, clock, random, hints, failed });
  const attachments = createAttachments({ sessions, hints, clock, failed });
  const inFlight = createInFlight({ store, link: deps.link, hints, attachments, clock, failed });
  const maxMs = () => config.current().limits.sessionMaxMs;
  const gate = createGate(sessions);
  const forward = createForward({ answer: deps.answer, inFlight, link: deps.link });
  const subscriptions = createSubscriptions(store, maxMs);
  const handle = createHandle({ recorder: deps.recorder, sessions, subscriptions, forward, failed });
  const notify = createNotify({ sessions, inFlight, failed });
  const initialize = createInitialize(deps);
  const outbox = createOutbox({ store, clock, random, ttlMs: () => config.current().limits.sessionIdleMs, failed });
  const standalone = createStandalone({ gate, attachments, random });
  const httpSse = createHttpSse({
    ...{ config, sessions, attachments, gate, outbox, handle, notify, initialize, endSession, failed },
  });
  const post = createPost({ config, clock, sessions, gate, handle, notify, initialize });

  /** Cancels what runs, ends streams, removes the keys; afterwards the id is unknown (protocol.md §3.3). */
  async function endSession(session: Session): Promise<void> {
    await inFlight.cancelAll(session);
    await sessions.end(session);
    attachments.end(session.record.tenant, session.id);
  }

  async function remove(ticket: Authenticated, headers: Headers, out: HttpOut): Promise<void> {
    if (headers[HEADER.session] === undefined) {
      return refuse(out, { reason: 'session-missing' }, ticket.xid, undefined);
    }
    const admitted = await gate.session(ticket, headers);
    if (admitted.kind === 'refusal') return refuse(out, admitted.refusal, ticket.xid, undefined);
    if (admitted.kind === 'none') return refuse(out, { reason: 'session-missing' }, ticket.xid, undefined);
    try {
      await endSession(admitted.session);
      out.empty(204);
    } catch (error) {
      failed('session end', error);
      refuse(out, { reason: 'unreadable' }, ticket.xid, undefined);
    }
  }

  return {
    post,
    get: standalone.open,
    delete: remove,
    sseOpen: (ticket, _headers, out) => httpSse.open(ticket, out),
    ssePost: httpSse.post,
    async start() {
      attachments.start();
      await hints.start();
    },
    async close() {
      standalone.close();
      await settled(inFlight.size, config, deps.clock);
      inFlight.close();
      await httpSse.close().catch((error: unknown) => failed('stream end', error));
      attachments.close();
      await hints.close().catch((error: unknown) => failed('hints', error));
    },
  };
}

/** Calls in flight may end by themselves until limits.drainMs (GB-141). */
async function settled(size: () => number, config: ConfigSource, clock: LegacyDeps['clock']): Promise<void> {
  const deadline = clock.now() + config.current().limits.drainMs;
  while (size() > 0 && clock.now() < deadline) {
    await new Promise<void>((done) => clock.setTimer(50, done));
  }
}
