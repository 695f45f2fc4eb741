// How long a stream of a session may stay open (design §5 "Revocation"): until the freshest token that its person has
// shown for the session here ends, its route or tenant is no more, or the policy lets that person see nothing there.

import type { Snapshot } from '@lockkeeper/protocol/config/settings';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Authenticated } from '../exchange.ts';
import { type Kind, reaches } from '../policy/decide.ts';
import type { Session } from './record.ts';

export interface Standing {
  /** A stream is open. `end` is called at most once, and never after letting go. Returns the way to let go. */
  hold(session: Session, ticket: Authenticated, end: () => void): () => void;
  /** Somebody whose session it is has shown a token. */
  seen(session: Session, ticket: Authenticated): void;
  reload(snapshot: Snapshot): void;
  close(): void;
}

interface Held {
  readonly session: Session;
  readonly streams: Set<() => void>;
  ticket: Authenticated;
  timer: Timer | null;
}

const MAX_TIMER_MS = 2 ** 31 - 1;
const KINDS: readonly Kind[] = ['tool', 'prompt', 'resource'];

export function createStanding({ clock }: { readonly clock: Clock }): Standing {
  const here = new Map<string, Held>();

  function drop(held: Held): void {
    held.timer?.clear();
    if (here.get(held.session.id) === held) here.delete(held.session.id);
  }

  function endAll(held: Held): void {
    drop(held);
    for (const end of [...held.streams]) end();
  }

  function watch(held: Held): void {
    held.timer?.clear();
    const at = held.ticket.caller.expiresAt;
    if (at === null) return;
    held.timer = clock.setTimer(Math.min(MAX_TIMER_MS, Math.max(0, at - clock.now())), () => {
      if (lasts(held.ticket) > clock.now()) watch(held);
      else endAll(held);
    });
    held.timer.unref?.();
  }

  function renew(held: Held, ticket: Authenticated): void {
    if (lasts(ticket) < lasts(held.ticket)) return;
    held.ticket = ticket;
  }

  return {
    hold(session, ticket, end) {
      const held = here.get(session.id) ?? { session, streams: new Set(), ticket, timer: null };
      renew(held, ticket);
      held.streams.add(end);
      here.set(session.id, held);
      if (held.streams.size === 1) watch(held);
      return () => {
        held.streams.delete(end);
        if (held.streams.size === 0) drop(held);
      };
    },
    seen(session, ticket) {
      const held = here.get(session.id);
      if (held !== undefined) renew(held, ticket);
    },
    reload(snapshot) {
      for (const held of [...here.values()]) if (!stands(snapshot, held)) endAll(held);
    },
    close() {
      for (const held of [...here.values()]) drop(held);
    },
  };
}

function lasts({ caller }: Authenticated): number {
  return caller.expiresAt ?? Infinity;
}

function stands(next: Snapshot, { session, ticket }: Held): boolean {
  const { route, caller } = ticket;
  const now = next.routes.find(({ path, tenant }) => path === route.path && tenant === route.tenant);
  const { revision, transport } = session.record;
  if (now === undefined || (transport === 'sse' && !now.sse)) return false;
  if (revision !== null && !now.revisions.includes(revision)) return false;
  if (!trusts(next, ticket)) return false;
  const sees = (snapshot: Snapshot, servers: readonly string[]) =>
    servers.some((server) =>
      KINDS.some((kind) => reaches(snapshot, { tenant: route.tenant, groups: caller.groups }, server, kind)),
    );
  // Who saw nothing from the start has lost nothing.
  return sees(next, now.servers) || !sees(ticket.snapshot, route.servers);
}

/** What the next request would be told: no issuer may speak for a tenant that it has been taken from. */
function trusts({ auth }: Snapshot, { route, caller, snapshot }: Authenticated): boolean {
  if (auth.mode !== snapshot.auth.mode) return false;
  if (auth.mode === 'open') return true;
  return auth.issuers.some(
    ({ issuer, tenants }) => issuer === caller.principal.issuer && tenants.includes(route.tenant),
  );
}
