// Calls in flight of legacy sessions, so that `notifications/cancelled` works on any replica (protocol.md §5.6). The
// client's ids repeat (GB-078), so they are a set; a cancel that fits two calls does nothing (design ruling 6).
//
// The warm path pays nothing: a call enters the store only when it has run for a moment. A cancel that finds no call
// leaves a tombstone with its time; a call that enters the store looks for one left since it began. So whichever of
// the two comes first, the other sees it, and a later call under the same id is not hit.

import type { Clock } from '@lockkeeper/state/clock';
import type { Store } from '@lockkeeper/state/store';
import type { Link } from '../link/contract.ts';
import type { Attachments } from './attachments.ts';
import type { Hints } from './hints.ts';
import { inFlightKey, tombstoneKey } from './keys.ts';
import type { Session } from './record.ts';

export interface RunningCall {
  readonly xid: string;
  /** `idKey` of the client's own request id. */
  readonly clientId: string;
  /** Taken over from a replica that is gone, whose entry stands in the store still. */
  readonly taken?: boolean;
  /** Called once when the client no longer wants the answer. */
  readonly cancel: () => void;
  /** Lets go of it without an end, for another replica to go on. False: nobody could. */
  readonly leave?: () => boolean;
}

export interface InFlight {
  /** Returns the way to say that it is over. Without a session it cannot be named again, only ended at drain. */
  begin(session: Session | null, call: RunningCall): () => void;
  cancel(session: Session, clientId: string): Promise<void>;
  /** All calls of a session, on whichever replica. Before the session's keys are removed. */
  cancelAll(session: Session): Promise<void>;
  /** Calls that run here now. */
  size(): number;
  /** What can go on elsewhere is left to it, the rest is cancelled. */
  close(): void;
}

export interface InFlightDeps {
  readonly store: Store;
  readonly link: Pick<Link, 'cancel'>;
  readonly hints: Hints;
  readonly attachments: Attachments;
  readonly clock: Clock;
  readonly failed: (what: string, error: unknown) => void;
}

/** A call this young is not in the store yet. */
const ENTER_AFTER_MS = 100;
/** By then all calls of other replicas that began before a cancel are in the store. */
const CERTAIN_MS = ENTER_AFTER_MS + 50;
const TOMBSTONE_MS = 10_000;
/** Renewed by each later call of the session; a call that outlives it can be cancelled on its own replica only. */
const SET_TTL_MS = 30 * 60_000;
const SET_CAP = 1024;

interface Local {
  readonly session: Session | null;
  readonly call: RunningCall;
  readonly startedAt: number;
  member: string | null;
  over: boolean;
}

export function createInFlight(deps: InFlightDeps): InFlight {
  const { store, clock } = deps;
  const local = new Map<string, Local>();

  deps.hints.on((hint) => {
    if (hint.kind !== 'cancelled') return;
    const found = local.get(hint.xid);
    if (found !== undefined && found.session?.id === hint.id) cancelLocal(found);
  });

  function cancelLocal(found: Local): void {
    if (found.over) return;
    found.over = true;
    found.call.cancel();
  }

  async function enter(session: Session, entry: Local): Promise<void> {
    const { call } = entry;
    const { tenant } = session.record;
    const member = JSON.stringify([call.clientId, call.xid, entry.startedAt]);
    entry.member = member;
    await store.addToSet(inFlightKey(tenant, session.id), member, SET_CAP, SET_TTL_MS);
    if (!local.has(call.xid)) return leave(entry); // ended while it was being written
    const tombstone = await store.get(tombstoneKey(tenant, session.id, call.clientId));
    if (tombstone === null || Number(tombstone) < entry.startedAt) return;
    // It may have been meant for another of the same age under the same id.
    const found = await certain(session, call.clientId, Number(tombstone));
    if (found.size === 1 && found.has(call.xid)) cancelLocal(entry);
  }

  async function leave(entry: Local): Promise<void> {
    const { session, member, call } = entry;
    if (session === null) return;
    const key = inFlightKey(session.record.tenant, session.id);
    if (member !== null) await store.removeFromSet(key, member);
    if (call.taken !== true) return;
    for (const left of await members(session))
      if (left[1] === call.xid) await store.removeFromSet(key, JSON.stringify(left));
  }

  /** Exchange ids in the store and here under this client id that had begun by then; those cancelled are left out. */
  async function matches(session: Session, clientId: string, begunBy: number): Promise<Set<string>> {
    const found = new Set<string>();
    for (const { session: s, call, over, startedAt } of local.values()) {
      if (!over && s?.id === session.id && call.clientId === clientId && startedAt <= begunBy) found.add(call.xid);
    }
    for (const [id, xid, startedAt] of await members(session)) {
      if (id === clientId && startedAt <= begunBy && local.get(xid)?.over !== true) found.add(xid);
    }
    return found;
  }

  /** With those of other replicas that were too young to be seen at first (GB-078); none are missed that still run. */
  async function certain(session: Session, clientId: string, at: number, seen?: Set<string>): Promise<Set<string>> {
    const found = seen ?? (await matches(session, clientId, at));
    // Where there are no other replicas all are seen at once.
    if (found.size !== 1 || store.kind === 'memory') return found;
    await new Promise<void>((go) => clock.setTimer(CERTAIN_MS, go));
    for (const xid of await matches(session, clientId, at)) found.add(xid);
    return found;
  }

  async function members(session: Session): Promise<[string, string, number][]> {
    const texts = await store.membersOf(inFlightKey(session.record.tenant, session.id));
    return texts.map((t) => JSON.parse(t) as [string, string, number]);
  }

  function cancelOne(session: Session, xid: string): void {
    const here = local.get(xid);
    if (here !== undefined) {
      cancelLocal(here);
      return;
    }
    const { tenant, issuer, subject, client } = session.record;
    deps.link.cancel(tenant, null, xid, { tenant, issuer, subject, client }, session.hash);
    deps.hints.send({ kind: 'cancelled', tenant, id: session.id, xid });
  }

  async function cancel(session: Session, clientId: string): Promise<void> {
    const at = clock.now();
    let found = await matches(session, clientId, at);
    if (found.size === 0) {
      const key = tombstoneKey(session.record.tenant, session.id, clientId);
      await store.set(key, String(at), TOMBSTONE_MS);
      found = await matches(session, clientId, at); // it may have entered between the two
    }
    if (found.size === 1) found = await certain(session, clientId, at, found);
    if (found.size !== 1) return;
    for (const xid of found) cancelOne(session, xid);
  }

  return {
    begin(session, call) {
      const entry: Local = { session, call, startedAt: clock.now(), member: null, over: false };
      local.set(call.xid, entry);
      if (session === null) return () => local.delete(call.xid);
      const letGo = deps.attachments.attach(session, () => cancelLocal(entry));
      const timer = clock.setTimer(ENTER_AFTER_MS, () => {
        enter(session, entry).catch((error: unknown) => deps.failed('in-flight record', error));
      });
      return () => {
        if (!local.delete(call.xid)) return;
        timer.clear();
        letGo();
        leave(entry).catch((error: unknown) => deps.failed('in-flight record', error));
      };
    },
    cancel,
    async cancelAll(session) {
      for (const entry of [...local.values()]) if (entry.session?.id === session.id) cancelLocal(entry);
      for (const [, xid] of await members(session)) cancelOne(session, xid);
    },
    size: () => local.size,
    close() {
      for (const entry of [...local.values()]) {
        if (!entry.over && entry.call.leave?.() === true) entry.over = true;
        else cancelLocal(entry);
      }
    },
  };
}
