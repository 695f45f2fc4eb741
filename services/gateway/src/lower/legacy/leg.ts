// The legacy leg (protocol.md Part 3): verbs in, sessions and calls behind, one reply out. Put together here; each
// file beside it does one part. It holds sockets and calls in flight only, everything else is in the store.

import type { Principal } from '@lockkeeper/protocol/link/frames';
import { HEADER } from '@lockkeeper/protocol/mcp/headers';
import type { Authenticated } from '../../exchange.ts';
import type { Headers, HttpOut, LegacyBody, LegacyLeg, Located } from '../../http/contract.ts';
import { createAttachments } from '../../session/attachments.ts';
import { createBelongings } from '../../session/belongings.ts';
import { createHints } from '../../session/hints.ts';
import { sessionHash } from '../../session/id.ts';
import { createInFlight } from '../../session/in-flight.ts';
import { createPresence } from '../../session/presence.ts';
import type { Session } from '../../session/record.ts';
import { createSessions } from '../../session/sessions.ts';
import { createStanding } from '../../session/standing.ts';
import type { LegacyDeps } from './contract.ts';
import { createForward } from './forward.ts';
import { createGate } from './gate.ts';
import { createHandle } from './handle.ts';
import { createInitialize } from './initialize.ts';
import { createNotify } from './notify.ts';
import { createTakeAnswer } from './questions/answers.ts';
import { createKeepCall } from './questions/record.ts';
import { createTakeover } from './questions/takeover.ts';
import { createWireIds } from './questions/wire-id.ts';
import { refuse } from './refusal.ts';
import { createHolding } from './stream/hold.ts';
import { createStreams } from './stream/streams.ts';
import { createSubscriptions } from './subscriptions.ts';
import { createHttpSse } from './transport/http-sse.ts';
import { createOutbox } from './transport/outbox.ts';
import { createPost } from './transport/post.ts';
import { createResume } from './transport/resume.ts';
import { createStandalone } from './transport/standalone.ts';
import type { Watches } from './watch/contract.ts';
import { createWatches } from './watch/watches.ts';

/** Longer than it takes until another replica listens for the sessions of a dead one. */
const UNWATCHED_MS = 60_000;
/** How often a session's listener shows that it is there. */
const MAX_KEEP_MS = 5 * 60_000;
/** What is kept of a call outlives the node's own deadline for its questions. */
const GRACE_MS = 5 * 60_000;

export interface RunningLegacyLeg extends LegacyLeg {
  /** Begins to hear other replicas' hints and to keep sessions with something attached alive. */
  start(): Promise<void>;
}

export function createLegacyLeg(deps: LegacyDeps): RunningLegacyLeg {
  const { store, clock, config, random, answer, recorder } = deps;
  const failed = (what: string, error: unknown): void => deps.log.warn('legacy leg', { hint: what, error });
  const hints = createHints(store, (error) => failed('hint', error));
  const evicted = ({ tenant }: Principal, id: string): void => {
    deps.log.warn('an unused session made room (limits.maxSessionsPerPrincipal)', { tenant, hint: sessionHash(id) });
  };
  const foreign = ({ xid, route }: Authenticated, id: string): void => {
    const about = { xid, tenant: route.tenant, route: route.path, hint: sessionHash(id) };
    deps.log.warn('a session was tried by another person or program, or on another route', about);
  };
  const sessions = createSessions({ store, config, clock, random, hints, failed, evicted, foreign });
  deps.forgetting?.add(sessions.forget);
  const attachments = createAttachments({ sessions, hints, clock, failed });
  const inFlight = createInFlight({ store, link: deps.link, hints, attachments, clock, failed });
  const presence = createPresence({ store, clock, random, failed });
  const limits = () => config.current().limits;
  const belongings = createBelongings(store, () => limits().humanMs + GRACE_MS);
  const standing = createStanding({ clock });
  const gate = createGate(sessions, standing.seen);
  const keeping = { store, belongings, clock, failed };
  const keepCall = createKeepCall(keeping, presence.self);
  const asking = { store, belongings, clock, wireIds: createWireIds(deps.wireSecret) };
  const forward = createForward({ answer, inFlight, link: deps.link, asking, clock, failed });
  const takeAnswer = createTakeAnswer({ ...keeping, answer, recorder });
  const subscriptions = createSubscriptions(store, () => 2 * limits().sessionIdleMs + UNWATCHED_MS);
  const watches: Watches | null =
    deps.audience === undefined
      ? null
      : createWatches({
          ...{ subscriptions, audience: deps.audience, presence, hints, clock, random, failed },
          keepMs: () => Math.min(MAX_KEEP_MS, limits().sessionIdleMs / 3),
          tell: (session, text, name) => tell(session, text, name),
        });
  const handle = createHandle({ recorder, sessions, subscriptions, watches, forward, failed });
  const notify = createNotify({ sessions, inFlight, watches, failed });
  const initialize = createInitialize(deps);
  const streams = createStreams({ store, belongings });
  const holding = createHolding({ store, clock, random, hints, failed });
  const takeover = createTakeover({ ...keeping, presence, handle });
  const resume = createResume({ attachments, standing, streams, holding, takeover, clock, failed });
  const standalone = createStandalone({
    gate,
    attachments,
    standing,
    random,
    streams,
    holding,
    resume: resume.open,
    watches,
    failed,
  });
  const outbox = createOutbox({ store, clock, random, ttlMs: () => limits().sessionIdleMs, failed });
  const taking = { config, clock, random, sessions, gate, handle, notify, initialize, takeAnswer, keepCall, failed };
  const httpSse = createHttpSse({ ...taking, attachments, standing, outbox, takeover, endSession });
  const post = createPost({ ...taking, channels: { streams, holding, failed } });

  /** A notification that no call has caused. HTTP+SSE: whoever holds the socket copies it from the log. */
  async function tell(session: Session, text: string, name: string): Promise<boolean> {
    if (session.record.transport === 'streamable') return await standalone.tell(session, text, name);
    await outbox.send(session, { kind: 'told', text });
    return true;
  }

  const unwatch = config.onChange((next) => {
    standing.reload(next);
    watches?.reload(next);
  });

  /** Cancels what runs, ends streams, removes the keys; afterwards the id is unknown (protocol.md §3.3). */
  async function endSession(session: Session): Promise<void> {
    watches?.ended(session);
    await inFlight.cancelAll(session);
    await sessions.end(session);
    attachments.end(session.record.tenant, session.id);
  }

  /** What is refused before an exchange has begun is in the audit, too, by the id that the refusal shows (design §8). */
  function noted(ticket: Authenticated, out: HttpOut, body?: LegacyBody): HttpOut {
    const { xid, route, arrivedAt } = ticket;
    const bytesIn = body === undefined ? 0 : messageOf(body).bytes.length;
    out.refused = (outcome, status) => {
      const about = { xid, tenant: route.tenant, route: route.path, ticket, arrivedAt };
      recorder.turnedAway({ ...about, outcome, status, bytesIn });
    };
    return out;
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
    post: (ticket, headers, body, out) => post(ticket, headers, body, noted(ticket, out, body)),
    get: (ticket, headers, out) => standalone.open(ticket, headers, noted(ticket, out)),
    delete: (ticket, headers, out) => remove(ticket, headers, noted(ticket, out)),
    sseOpen: (ticket, _headers, out) => httpSse.open(ticket, noted(ticket, out)),
    ssePost: (ticket, id, body, out) => httpSse.post(ticket, id, body, noted(ticket, out, body)),
    async revisionOf(ticket, headers) {
      const admitted = await gate.session(ticket, headers);
      return admitted.kind === 'session' ? admitted.session.record.revision : null;
    },
    async start() {
      attachments.start();
      await hints.start();
      await presence.start();
    },
    async close(drainMs = limits().drainMs) {
      unwatch();
      standing.close();
      watches?.close();
      standalone.close();
      await settled(inFlight.size, drainMs, deps.clock);
      inFlight.close();
      resume.close();
      await presence.close();
      await httpSse.close().catch((error: unknown) => failed('stream end', error));
      attachments.close();
      await hints.close().catch((error: unknown) => failed('hints', error));
    },
  };
}

/** Its bytes are those of the whole body. */
function messageOf(body: LegacyBody): Located {
  return body.kind === 'single' ? body.message : body.messages[0]!;
}

/** Calls in flight may end by themselves (GB-141). */
async function settled(size: () => number, drainMs: number, clock: LegacyDeps['clock']): Promise<void> {
  const deadline = clock.now() + drainMs;
  while (size() > 0 && clock.now() < deadline) {
    await new Promise<void>((done) => clock.setTimer(50, done));
  }
}
