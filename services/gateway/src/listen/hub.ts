// Who listens where (protocol.md §5.1): one listen per upstream and authorization context, shared by all downstream
// listens and legacy sessions of this gateway, closed when the last of them leaves. Contexts never mix.

import { LRUCache } from 'lru-cache';
import type { Listener, News, Seat, Wanted } from './contract.ts';
import { LIST_KINDS } from './contract.ts';
import { UpstreamListen, type UpstreamListenDeps } from './upstream-listen.ts';

export type HubDeps = Omit<UpstreamListenDeps, 'empty'>;

export interface Hub {
  sit(listener: Listener, wanted: Wanted, hear: (news: News) => void): Seat;
  /** Something of this upstream is kept for `ms`: until then its list changes make it stale (GB-069). */
  follow(listener: Listener, ms: number): void;
  /** Upstream listens that are open. */
  readonly size: number;
  close(): void;
}

const MAX_FOLLOWED = 5_000;

export function createHub(deps: HubDeps): Hub {
  const open = new Map<string, UpstreamListen>();
  const followed = new LRUCache<string, Seat>({
    max: MAX_FOLLOWED,
    ttl: 60_000,
    ttlAutopurge: true,
    dispose: (seat) => seat.leave(),
  });
  let closed = false;

  function listenOf(listener: Listener): UpstreamListen {
    const key = contextOf(listener);
    const known = open.get(key);
    if (known !== undefined) return known;
    const made = new UpstreamListen(listener, {
      ...deps,
      empty: () => {
        if (open.get(key) === made) open.delete(key);
      },
    });
    open.set(key, made);
    return made;
  }

  return {
    sit: (listener, wanted, hear) => (closed ? NOWHERE : listenOf(listener).sit(wanted, hear)),
    follow(listener, ms) {
      if (closed || listener.up.spec.isolation === 'exclusive' || ms <= 0) return;
      const key = contextOf(listener);
      const seat = followed.get(key) ?? listenOf(listener).sit({ lists: new Set(LIST_KINDS), uris: new Set() }, ignore);
      followed.set(key, seat, { ttl: ms, noDisposeOnSet: true });
    },
    get size() {
      return open.size;
    },
    close() {
      closed = true;
      followed.clear();
      for (const one of [...open.values()]) one.close();
      open.clear();
    },
  };
}

/** A shared server sees no caller; else the person's process, and the program's own (route/upstream.ts). */
function contextOf({ up, principal }: Listener): string {
  return up.spec.isolation === 'shared' ? up.owner : `${up.owner}\n${principal.client ?? ''}`;
}

function ignore(): void {
  // The listen itself makes the kept list stale.
}

const NOWHERE: Seat = { ready: () => Promise.resolve(null), want: () => {}, leave: () => {} };
