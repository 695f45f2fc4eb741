// One listen of this gateway at one upstream in one authorization context, for all who have a seat there (protocol.md
// §5.1 "listen"). What is wanted grows: the new listen is acknowledged before the old one is closed. Lost: opened again
// more and more slowly, and when it is back, everything that was wanted is told as changed, once (§2.9 "Stateless").

import { objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, parseSpan, scan } from '@lockkeeper/protocol/json/scan';
import { subscribedBy } from '@lockkeeper/protocol/mcp/subscribed';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Link, LinkAnswer, Listening } from '../link/contract.ts';
import {
  type ChangedList,
  common,
  covers,
  isNothing,
  LIST_KINDS,
  type Listener,
  type News,
  NOTHING,
  type Seat,
  type Wanted,
} from './contract.ts';

export interface UpstreamListenDeps {
  readonly link: Pick<Link, 'listen'>;
  readonly clock: Clock;
  /** 0 ≤ x < 1, for jitter. */
  readonly random: () => number;
  /** A list may differ from what is kept of it (GB-069). */
  readonly stale: (owner: string, list: ChangedList) => void;
  readonly log: (fields: object, words: string) => void;
  /** The last seat has been left. */
  readonly empty: () => void;
}

interface Place {
  wanted: Wanted;
  readonly hear: (news: News) => void;
  waiting: ((honoured: Wanted | null) => void)[];
}

interface Session {
  readonly wanted: Wanted;
  readonly openedAt: number;
  honoured: Wanted | null;
  /** No process was there that could say yes or no. */
  unsure: boolean;
  listening: Listening | null;
}

/** How the node tells what it honours (pool-manager listen/outlet.ts). */
const HONOURED = 'lk/honoured';
const FIRST_PAUSE_MS = 300;
const MAX_PAUSE_MS = 30_000;
const SETTLED_MS = 60_000;
/** So many failures in a row may be a node that goes and another that comes. */
const PATIENT = 3;
/** What nobody wants any more is listened to a little longer: clients come back. */
const SHRINK_MS = 1_000;

export class UpstreamListen {
  private readonly deps: UpstreamListenDeps;
  private readonly listener: Listener;
  private readonly places = new Set<Place>();
  private current: Session | null = null;
  private opening: Session | null = null;
  private timer: Timer | null = null;
  private shrinking: Timer | null = null;
  private failures = 0;
  private missed = false;
  private over = false;

  constructor(listener: Listener, deps: UpstreamListenDeps) {
    this.listener = listener;
    this.deps = deps;
  }

  sit(wanted: Wanted, hear: (news: News) => void): Seat {
    const place: Place = { wanted, hear, waiting: [] };
    this.places.add(place);
    this.reconcile();
    return {
      ready: () => this.ready(place),
      want: (next) => {
        place.wanted = next;
        this.reconcile();
      },
      leave: () => this.leave(place),
    };
  }

  close(): void {
    if (this.over) return;
    this.over = true;
    this.timer?.clear();
    this.shrinking?.clear();
    this.opening?.listening?.close();
    this.current?.listening?.close();
    this.opening = null;
    this.current = null;
    for (const place of this.places) settle(place, null);
    this.places.clear();
  }

  private ready(place: Place): Promise<Wanted | null> {
    const { current } = this;
    if (this.over) return Promise.resolve(null);
    if (isNothing(place.wanted)) return Promise.resolve(NOTHING);
    if (current?.honoured != null && covers(current.wanted, place.wanted)) {
      return Promise.resolve(told(place.wanted, current));
    }
    // It has failed again and again; nobody is made to wait for the next try.
    if (this.opening === null && this.timer !== null && this.failures > PATIENT) return Promise.resolve(null);
    return new Promise((resolve) => place.waiting.push(resolve));
  }

  private leave(place: Place): void {
    if (!this.places.delete(place)) return;
    settle(place, null);
    if (this.places.size > 0) {
      this.reconcile();
      return;
    }
    this.close();
    this.deps.empty();
  }

  /** Opens what is missing; at most one at a time. */
  private reconcile(): void {
    if (this.over || this.opening !== null || this.timer !== null) return;
    const union = this.union();
    if (isNothing(union)) return;
    if (this.current === null || !covers(this.current.wanted, union)) this.open(union);
    else if (!covers(union, this.current.wanted)) this.shrinkSoon();
  }

  private shrinkSoon(): void {
    this.shrinking ??= this.deps.clock.setTimer(SHRINK_MS, () => {
      this.shrinking = null;
      const union = this.union();
      const free = !this.over && this.opening === null && this.timer === null;
      if (free && this.current !== null && !isNothing(union) && !covers(union, this.current.wanted)) this.open(union);
    });
  }

  private open(wanted: Wanted): void {
    const { up, principal, session } = this.listener;
    const opened: Session = { wanted, openedAt: this.deps.clock.now(), honoured: null, unsure: false, listening: null };
    this.opening = opened;
    const list = (kind: ChangedList) => wanted.lists.has(kind);
    opened.listening = this.deps.link.listen(
      {
        owner: up.owner,
        server: up.spec.name,
        digest: up.spec.digest,
        ...{ principal, session, capabilities: up.capabilities },
        filter: {
          tools: list('tools'),
          prompts: list('prompts'),
          resources: list('resources'),
          uris: [...wanted.uris],
          taskIds: [],
        },
      },
      {
        event: (method, members) => this.heard(opened, method, members),
        ended: (answer) => this.ended(opened, answer),
      },
    );
  }

  private heard(from: Session, method: string, members: Uint8Array): void {
    if (this.over || (from !== this.current && from !== this.opening)) return;
    if (method === HONOURED) {
      from.unsure = memberOf(members, 'unsure') === true;
      this.honoured(from, readHonoured(members));
      return;
    }
    const news = newsOf(method, members);
    if (news !== null) this.tell(news);
  }

  private honoured(from: Session, honoured: Wanted): void {
    from.honoured = honoured;
    if (from === this.opening) {
      this.opening = null;
      const before = this.current;
      this.current = from;
      before?.listening?.close();
    }
    for (const place of this.places) {
      if (covers(from.wanted, place.wanted)) settle(place, told(place.wanted, from));
    }
    if (this.missed) {
      this.missed = false;
      this.tellAll(honoured);
    }
    this.reconcile();
  }

  private ended(from: Session, answer: LinkAnswer): void {
    if (this.over || (from !== this.current && from !== this.opening)) return;
    const { up } = this.listener;
    const reason = answer.kind === 'fault' ? answer.fault.reason : 'result';
    this.deps.log({ server: up.spec.name, tenant: up.spec.tenant, reason }, 'a listen at a pool manager ended');
    if (from === this.current && this.deps.clock.now() - from.openedAt >= SETTLED_MS) this.failures = 0;
    if (from === this.opening) this.opening = null;
    else this.current = null;
    this.missed ||= this.current === null;
    if (this.current === null) for (const place of this.places) settle(place, null);
    this.again();
  }

  private again(): void {
    if (this.over || this.timer !== null) return;
    const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.failures++, 10));
    this.timer = this.deps.clock.setTimer(pause * (0.5 + this.deps.random() / 2), () => {
      this.timer = null;
      this.reconcile();
    });
  }

  private tell(news: News): void {
    if (news.kind === 'list') this.deps.stale(this.listener.up.owner, news.list);
    for (const { wanted, hear } of [...this.places]) {
      const wants =
        news.kind === 'list' ? wanted.lists.has(news.list) : subscribedBy(news.uri, wanted.uris) !== undefined;
      if (wants) hear(news);
    }
  }

  private tellAll(honoured: Wanted): void {
    for (const list of honoured.lists) this.tell({ kind: 'list', list });
    for (const uri of honoured.uris) this.tell({ kind: 'updated', uri });
  }

  private union(): Wanted {
    const lists = new Set<ChangedList>();
    const uris = new Set<string>();
    for (const { wanted } of this.places) {
      for (const one of wanted.lists) lists.add(one);
      for (const one of wanted.uris) uris.add(one);
    }
    return { lists, uris };
  }
}

/** Null: what is not honoured was refused by nobody. */
function told(wanted: Wanted, { honoured, unsure }: Session): Wanted | null {
  const will = common(wanted, honoured ?? NOTHING);
  return unsure && will.uris.size < wanted.uris.size ? null : will;
}

function settle(place: Place, honoured: Wanted | null): void {
  const { waiting } = place;
  place.waiting = [];
  for (const resolve of waiting) resolve(honoured);
}

function newsOf(method: string, members: Uint8Array): News | null {
  const list = LIST_KINDS.find((one) => method === `notifications/${one}/list_changed`);
  if (list !== undefined) return { kind: 'list', list };
  const uri = method === 'notifications/resources/updated' ? memberOf(members, 'uri') : undefined;
  return typeof uri === 'string' ? { kind: 'updated', uri } : null;
}

function readHonoured(members: Uint8Array): Wanted {
  const uris = memberOf(members, 'uris');
  return {
    lists: new Set(LIST_KINDS.filter((kind) => memberOf(members, kind) === true)),
    uris: new Set(Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : []),
  };
}

function memberOf(members: Uint8Array, key: string): unknown {
  const object = objectOf([members]);
  const member = findMember(scan(object).members, key);
  return member === undefined ? undefined : parseSpan(object, member);
}
