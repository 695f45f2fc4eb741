// One caller's wish on one route, with a seat at each of its servers (protocol.md §2.9, §5.7). It tells only what was
// honoured, under the names of the route, and looks at the policy again before each word and at each reload: what was
// allowed when it began may be so no longer (design §5 "Revocation"). A server that is down leaves the rest told.

import type { ServerSpec, Snapshot } from '@lockkeeper/protocol/config/settings';
import type { ServerCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { splitUri, suffixUri } from '@lockkeeper/protocol/mcp/names';
import { subscribedBy } from '@lockkeeper/protocol/mcp/subscribed';
import type { Clock } from '@lockkeeper/state/clock';
import type { Exchange } from '../exchange.ts';
import { viewText } from '../policy/decide.ts';
import { STARTING } from '../route/aggregate/outage.ts';
import type { Outcome } from '../route/catalogue/kept.ts';
import type { ServerProfile } from '../route/catalogue/profile.ts';
import type { CallFault, Upstream } from '../route/contract.ts';
import { awaited, type Room, reach } from '../route/room.ts';
import { type Sight, sightOf } from '../route/sight.ts';
import { atMost } from '../route/wait.ts';
import type { ChangedList, News, Seat, Wanted } from './contract.ts';
import { LIST_KINDS, NOTHING } from './contract.ts';
import type { Hub } from './hub.ts';

export interface AudienceDeps {
  readonly room: Room;
  readonly hub: Hub;
  readonly clock: Clock;
  /**
   * What is wanted was promised before (a legacy session's subscriptions): it is told whenever its server can be had.
   * Else only what the server honoured at the beginning is.
   */
  readonly promised?: boolean;
}

export interface Ears {
  hear(news: News): void;
  /** The policy no longer lets this be told: a URI of the route, or a kind of list. Not told any more. */
  revoked(what: string): void;
  /** The route is no more, or its tenant's. */
  gone(): void;
}

/** `uris` are those of the route. */
export type Added =
  /** Updates of it will be told. */
  | 'told'
  /** No such resource for this caller, or its server does not want to. */
  | 'refused'
  /** Its server knows no subscriptions. */
  | 'unsupported'
  | { readonly fault: CallFault; readonly spec: ServerSpec };

export type Opened =
  | { readonly kind: 'honoured'; readonly honoured: Wanted }
  | { readonly kind: 'fault'; readonly fault: CallFault; readonly spec: ServerSpec };

interface Part {
  readonly spec: ServerSpec;
  readonly seat: Seat;
  wanted: Wanted;
  honoured: Wanted;
  /** The upstream has said what it honours; else it could not be asked. */
  asked: boolean;
}

/** A server and a URI of its own. */
interface Place {
  readonly spec: ServerSpec;
  readonly uri: string;
}

/** How long a client waits for its acknowledgement; a server that takes longer is left out of it. */
const READY_MS = 10_000;
/** Nobody refused it: its process could not be had, or did not answer. */
const NOT_ASKED: CallFault = {
  ...{ reason: 'unavailable', code: -32603, mayHaveRun: false },
  message: 'The server could not be asked now; subscribe again in a moment.',
};
const KIND_OF = { tools: 'tool', prompts: 'prompt', resources: 'resource' } as const;

export class Audience {
  private readonly deps: AudienceDeps;
  private readonly ears: Ears;
  private exchange: Exchange;
  private sight: Sight;
  private readonly lists: ReadonlySet<ChangedList>;
  private readonly uris: Set<string>;
  /** By server name. */
  private readonly parts = new Map<string, Part>();
  private readonly profiles = new Map<string, ServerCapabilities>();
  private over = false;

  constructor(deps: AudienceDeps, exchange: Exchange, wanted: Wanted, ears: Ears) {
    this.deps = deps;
    this.ears = ears;
    this.exchange = exchange;
    this.sight = sightOf(exchange, true, deps.room.deps.observer);
    this.lists = wanted.lists;
    this.uris = new Set(wanted.uris);
  }

  /** Takes the seats. On a one-server route a server that cannot be had is a fault; on an aggregate it is left out. */
  async open(): Promise<Opened> {
    const { aggregate } = this.exchange.route;
    const faults = await Promise.all(this.sight.servers.map((spec) => this.sitAt(spec)));
    const fault = aggregate ? undefined : faults.find((one) => one !== null);
    if (fault != null) return { kind: 'fault', fault, spec: this.sight.servers[0]! };
    return { kind: 'honoured', honoured: this.honoured() };
  }

  /** Legacy sessions subscribe one by one. */
  async add(uri: string): Promise<Added> {
    const place = this.locate(uri);
    if (this.over || place === null) return 'refused';
    this.uris.add(uri);
    const fault = await this.sitFor(place);
    if (this.tells(place)) return 'told';
    this.drop(uri);
    if (fault !== null) return { fault, spec: place.spec };
    if (this.parts.get(place.spec.name)?.asked === false) return { fault: NOT_ASKED, spec: place.spec };
    const profile = this.profiles.get(place.spec.name);
    return profile !== undefined && profile.resources?.subscribe !== true ? 'unsupported' : 'refused';
  }

  drop(uri: string): void {
    if (!this.uris.delete(uri)) return;
    const part = this.partOf(uri);
    if (part === undefined) return;
    part.wanted = this.wishAt(part.spec);
    part.honoured = narrowed(part.honoured, part.wanted);
    part.seat.want(part.wanted);
  }

  /** What is told now. */
  get told(): Wanted {
    return this.honoured();
  }

  /** A newer configuration: seats follow it, and what is seen may have changed as a whole. */
  reload(snapshot: Snapshot): void {
    if (this.over) return;
    const { path, tenant } = this.exchange.route;
    const route = snapshot.routes.find((r) => r.path === path && r.tenant === tenant);
    if (route === undefined) {
      this.ears.gone();
      return;
    }
    const before = this.sight;
    this.exchange = { ...this.exchange, snapshot, route };
    this.sight = sightOf(this.exchange, true, this.deps.room.deps.observer);
    if (!this.recheck()) return;
    const stays = (spec: ServerSpec) => before.servers.some((s) => s.name === spec.name && s.digest === spec.digest);
    for (const part of [...this.parts.values()]) {
      if (this.sight.servers.some((s) => s.name === part.spec.name && s.digest === part.spec.digest)) continue;
      part.seat.leave();
      this.parts.delete(part.spec.name);
    }
    const fresh = this.sight.servers.filter((spec) => !stays(spec));
    void Promise.all(fresh.map((spec) => this.sitAt(spec, true))).catch((error: unknown) => {
      this.deps.room.deps.log.warn({ err: error, route: path, tenant }, 'a listen could not follow a reload');
    });
    const same = fresh.length === 0 && before.servers.length === this.sight.servers.length;
    if (same && this.view(before) === this.view(this.sight)) return;
    // Another membership or another view: every list may differ (protocol.md §5.7 "Membership change").
    for (const list of this.lists) if (this.shows(list)) this.ears.hear({ kind: 'list', list });
  }

  close(): void {
    this.over = true;
    for (const { seat } of this.parts.values()) seat.leave();
    this.parts.clear();
  }

  private view({ exchange, servers }: Sight): string {
    const names = servers.map(({ name }) => name);
    const subject = { tenant: exchange.route.tenant, groups: exchange.caller.groups };
    return viewText(exchange.snapshot, subject, names);
  }

  /** False: something was revoked, and the ears may have closed us. */
  private recheck(): boolean {
    for (const uri of this.uris) {
      if (this.locate(uri) === null) this.ears.revoked(uri);
    }
    for (const list of this.lists) if (!this.shows(list)) this.ears.revoked(list);
    return !this.over;
  }

  private shows(list: ChangedList): boolean {
    return this.sight.servers.some((spec) => this.sight.shows(spec.name, KIND_OF[list]));
  }

  /** `promised`: something of it is told to the caller already, so a server that cannot be had now is waited for. */
  private async sitAt(spec: ServerSpec, promised = this.exchange.route.aggregate): Promise<CallFault | null> {
    const { room, hub } = this.deps;
    const wish = this.wishAt(spec);
    if (wish.lists.size + wish.uris.size === 0) return null;
    const { exchange } = this;
    const up = reach(room, exchange, spec);
    const profile = await this.profileOf(spec, up);
    if (this.over) return null;
    // A server that is down now may be back later: its seat is kept, and tells so then.
    if (profile.kind === 'fault' && !promised) return profile.fault;
    if (profile.kind === 'kept') this.profiles.set(spec.name, profile.entry.value.capabilities);
    const wanted = profile.kind === 'fault' ? wish : declared(wish, profile.entry.value.capabilities);
    if (wanted.lists.size + wanted.uris.size === 0) return null;
    const { principal } = exchange.caller;
    const listener = { up, principal, session: exchange.session };
    const seat = hub.sit(listener, wanted, (news) => this.heard(part, news));
    const part: Part = { spec, seat, wanted, honoured: NOTHING, asked: false };
    this.parts.get(spec.name)?.seat.leave();
    this.parts.set(spec.name, part);
    // What is not there yet has nothing to say for now: the acknowledgement does not wait for it a second time.
    if (profile.kind === 'kept' || profile.fault !== STARTING) await this.settled(part);
    return null;
  }

  /** Of an aggregate's server that is starting it is known later; the others' listeners are not made to wait (GB-026). */
  private profileOf(spec: ServerSpec, up: Upstream): Outcome<ServerProfile> | Promise<Outcome<ServerProfile>> {
    const { room } = this.deps;
    const { exchange } = this;
    const loading = room.catalogue.knownProfile(exchange, up);
    if (!exchange.route.aggregate || !(loading instanceof Promise)) return awaited(exchange, loading);
    let late = false;
    const waiting = room.patience.wait(exchange, up.owner, loading, null).then((outcome): Outcome<ServerProfile> => {
      late = outcome === null;
      return outcome ?? { kind: 'fault', fault: STARTING };
    });
    loading.then(
      (outcome) => {
        if (late && outcome.kind === 'kept') this.arrived(spec, outcome.entry.value.capabilities);
      },
      () => undefined, // a fault like any other, which nobody waits for any more
    );
    return awaited(exchange, waiting);
  }

  /** What was listed without it has changed, whether or not it tells of changes itself. */
  private arrived(spec: ServerSpec, has: ServerCapabilities): void {
    if (this.over || !this.sight.servers.some((s) => s.name === spec.name && s.digest === spec.digest)) return;
    this.profiles.set(spec.name, has);
    for (const list of this.lists) {
      if (has[list] !== undefined && this.sight.shows(spec.name, KIND_OF[list])) this.ears.hear({ kind: 'list', list });
    }
  }

  private async sitFor(place: Place): Promise<CallFault | null> {
    const part = this.parts.get(place.spec.name);
    if (part === undefined) return this.sitAt(place.spec);
    if (!part.honoured.uris.has(place.uri)) await this.rewish(part);
    return null;
  }

  private tells(place: Place | null): boolean {
    return place !== null && this.parts.get(place.spec.name)?.honoured.uris.has(place.uri) === true;
  }

  private async rewish(part: Part): Promise<void> {
    const has = this.profiles.get(part.spec.name);
    if (has !== undefined && has.resources?.subscribe !== true) return;
    part.wanted = { lists: part.wanted.lists, uris: this.wishAt(part.spec).uris };
    part.seat.want(part.wanted);
    await this.settled(part);
  }

  private async settled(part: Part): Promise<void> {
    const ready = await atMost(this.deps.clock, READY_MS, part.seat.ready(), null);
    part.asked = ready !== null;
    if (ready !== null) part.honoured = ready;
  }

  /** What of it all is this server's, as the policy has it now. */
  private wishAt(spec: ServerSpec): Wanted {
    const lists = [...this.lists].filter((list) => this.sight.shows(spec.name, KIND_OF[list]));
    const places = [...this.uris].map((uri) => this.locate(uri)).filter((place) => place?.spec.name === spec.name);
    return { lists: new Set(lists), uris: new Set(places.map((place) => place!.uri)) };
  }

  private honoured(): Wanted {
    if (this.deps.promised === true) return this.promised();
    const parts = [...this.parts.values()];
    const { aggregate } = this.exchange.route;
    // An aggregate's members change too, so it always tells of every kind it shows (protocol.md §5.2 "list_changed").
    const lists = LIST_KINDS.filter(
      (list) =>
        this.lists.has(list) && (aggregate ? this.shows(list) : parts.some(({ honoured }) => honoured.lists.has(list))),
    );
    const uris = [...this.uris].filter((uri) => this.tells(this.locate(uri)));
    return { lists: new Set(lists), uris: new Set(uris) };
  }

  private promised(): Wanted {
    const lists = [...this.parts.values()].flatMap(({ wanted }) => [...wanted.lists]);
    const uris = [...this.uris].filter((uri) => this.locate(uri) !== null);
    return { lists: new Set(lists), uris: new Set(uris) };
  }

  private heard(part: Part, news: News): void {
    if (this.over || this.parts.get(part.spec.name) !== part) return;
    const { name } = part.spec;
    if (news.kind === 'list') {
      if (this.sight.shows(name, KIND_OF[news.list])) this.ears.hear(news);
      return;
    }
    const { uris } = this.deps.promised === true ? part.wanted : part.honoured;
    const whole = subscribedBy(news.uri, uris);
    if (whole === undefined) return;
    if (!this.sight.may(name, 'resource', whole)) {
      this.ears.revoked(this.exposed(name, whole));
      return;
    }
    // A part may be hidden where the whole is not.
    if (news.uri !== whole && !this.sight.sees(name, 'resource', news.uri)) return;
    this.ears.hear({ kind: 'updated', uri: this.exposed(name, news.uri) });
  }

  private exposed(server: string, uri: string): string {
    return this.exchange.route.aggregate ? suffixUri(uri, server) : uri;
  }

  private partOf(uri: string): Part | undefined {
    const server = this.exchange.route.aggregate ? splitUri(uri)?.server : this.sight.servers[0]?.name;
    return server === undefined ? undefined : this.parts.get(server);
  }

  /** The server and its own URI; null: there is none such that this caller may have. */
  private locate(uri: string): Place | null {
    const split = this.exchange.route.aggregate ? splitUri(uri) : { uri, server: this.sight.servers[0]?.name ?? '' };
    const spec = this.sight.servers.find((s) => s.name === split?.server);
    if (split === null || spec === undefined || !this.sight.sees(spec.name, 'resource', split.uri)) return null;
    return { spec, uri: split.uri };
  }
}

function declared(wish: Wanted, has: ServerCapabilities): Wanted {
  return {
    lists: new Set([...wish.lists].filter((list) => has[list]?.listChanged === true)),
    uris: has.resources?.subscribe === true ? wish.uris : NOTHING.uris,
  };
}

function narrowed(honoured: Wanted, wanted: Wanted): Wanted {
  return { lists: honoured.lists, uris: new Set([...honoured.uris].filter((uri) => wanted.uris.has(uri))) };
}
