// tools/list, prompts/list, resources/list and resources/templates/list on routes of both kinds. On a one-server route
// items and order are the server's own; on an aggregate they come in configured order under their names there, and a
// server that is down leaves the rest served and is named (protocol.md §5.7 "Partial outage").

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { concat, objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, membersOf, stringOf } from '@lockkeeper/protocol/json/scan';
import type { AnswerListener, Ask } from '../exchange.ts';
import type { Kind } from '../policy/decide.ts';
import { servesLegacyTasks } from '../tasks/legacy-tasks.ts';
import { STARTING, tellUnavailable, type Unavailable, unavailableMeta } from './aggregate/outage.ts';
import { tableOf } from './aggregate/table.ts';
import { LISTS, type List, type ListKind } from './catalogue/items.ts';
import type { Entry } from './catalogue/kept.ts';
import { cutPage, openCursor, type Page, type Position, type Shelf, sealCursor } from './catalogue/page.ts';
import { offers } from './catalogue/profile.ts';
import type { CallFault, Step } from './contract.ts';
import { isMethodNotFound, refused } from './refuse.ts';
import { awaited, faulted, type Room, reach } from './room.ts';
import type { Sight } from './sight.ts';

export const KIND_OF: Readonly<Record<ListKind, Kind>> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  templates: 'resource',
};

/** What one server contributes. */
type Share =
  | { readonly kind: 'list'; readonly spec: ServerSpec; readonly entry: Entry<List> }
  | { readonly kind: 'nothing'; readonly spec: ServerSpec }
  | { readonly kind: 'unoffered'; readonly spec: ServerSpec }
  | { readonly kind: 'fault'; readonly spec: ServerSpec; readonly fault: CallFault; readonly last?: Entry<List> };

/** A list that a failed refresh leaves standing is shown this long (protocol.md §2.10 "Stale on error", GB-132). */
const LAST_GOOD_MS = 10 * 60 * 1000;
/** How long a client may keep an answer from which a server is missing. */
const PARTIAL_TTL_MS = 2000;

export async function answerList(
  room: Room,
  sight: Sight,
  ask: Ask,
  kind: ListKind,
  listener: AnswerListener,
): Promise<Step> {
  const from = positionOf(room, sight, ask, kind);
  if (from !== null && 'kind' in from) return from;
  const { aggregate } = sight.exchange.route;
  const shares = await Promise.all(serversFrom(sight, from).map((spec) => shareOf(room, sight, spec, kind, from)));
  const failed = aggregate ? undefined : shares.find((s) => s.kind === 'fault' && s.last === undefined);
  if (failed?.kind === 'fault') return faulted(failed.fault, failed.spec, null);
  const stale = sight.final ? undefined : shares.find((s) => s.kind === 'fault' && s.fault.reason === 'stale-config');
  if (stale?.kind === 'fault') return faulted(stale.fault, stale.spec, null);
  // A method of a capability that nobody declared is an unknown method (protocol.md §2.6 "capability truth").
  if (sight.servers.length > 0 && shares.every((s) => s.kind === 'unoffered')) return refused('unknown-method');
  const first = listOf(shares[0]);
  if (from !== null && from.version !== '' && first !== undefined && first.version !== from.version) {
    return refused('bad-cursor');
  }
  return compose(room, sight, kind, shares, from, listener);
}

/** Null: from the start. */
function positionOf(room: Room, sight: Sight, ask: Ask, kind: ListKind): Position | Step | null {
  const member = findMember(ask.params, 'cursor');
  if (member === undefined) return null;
  const text = stringOf(ask.bytes, member);
  const position = text === undefined ? null : openCursor(room.deps.ring, sight, kind, text);
  if (position === null || !sight.servers.some((s) => s.name === position.server)) return refused('bad-cursor');
  return position;
}

function serversFrom(sight: Sight, from: Position | null): readonly ServerSpec[] {
  return from === null ? sight.servers : sight.servers.slice(sight.servers.findIndex((s) => s.name === from.server));
}

async function shareOf(
  room: Room,
  sight: Sight,
  spec: ServerSpec,
  kind: ListKind,
  from: Position | null,
): Promise<Share> {
  const { exchange } = sight;
  if (!sight.shows(spec.name, KIND_OF[kind])) return { kind: 'unoffered', spec };
  const loading = loadShare(room, sight, spec, kind, from);
  if (!exchange.route.aggregate) return loading;
  const { owner } = reach(room, exchange, spec);
  return room.patience.wait(exchange, owner, loading, failedShare(room, sight, spec, kind, STARTING));
}

async function loadShare(
  room: Room,
  sight: Sight,
  spec: ServerSpec,
  kind: ListKind,
  from: Position | null,
): Promise<Share> {
  const { exchange } = sight;
  const { catalogue } = room;
  const up = reach(room, exchange, spec);
  const profile = await awaited(exchange, catalogue.knownProfile(exchange, up));
  if (profile.kind === 'fault') return failedShare(room, sight, spec, kind, profile.fault);
  const declared = profile.entry.value;
  if (!offers(declared, kind === 'templates' ? 'resources' : kind)) return { kind: 'unoffered', spec };
  const version = from !== null && from.server === spec.name ? from.version : '';
  const loading =
    version === ''
      ? catalogue.list(exchange, up, declared, kind)
      : catalogue.page(exchange, up, declared, kind, version);
  const list = await awaited(exchange, loading);
  if (list.kind === 'kept') return { kind: 'list', spec, entry: list.entry };
  return isMethodNotFound(list.fault) ? { kind: 'nothing', spec } : failedShare(room, sight, spec, kind, list.fault);
}

function failedShare(room: Room, sight: Sight, spec: ServerSpec, kind: ListKind, fault: CallFault): Share {
  const last = room.catalogue.last(reach(room, sight.exchange, spec), kind);
  const recent = last !== undefined && room.deps.clock.now() - last.loadedAt < LAST_GOOD_MS;
  return { kind: 'fault', spec, fault, ...(recent ? { last } : {}) };
}

function compose(
  room: Room,
  sight: Sight,
  kind: ListKind,
  shares: readonly Share[],
  from: Position | null,
  listener: AnswerListener,
): Step {
  const { exchange } = sight;
  const { limits } = exchange.snapshot;
  const shelves = shares.map((share) => shelfOf(sight, kind, share));
  const bridged = kind === 'tools' && servesLegacyTasks(room, exchange);
  const page = cutPage(bridged ? shelves.map(withExecution) : shelves, from?.offset ?? 0, limits.pageSize);
  const missing = shares.flatMap((s): Unavailable[] => (s.kind === 'fault' ? [{ spec: s.spec, fault: s.fault }] : []));
  tellUnavailable(room, exchange, missing, listener);
  const ttls = shares.flatMap((s) => (s.kind === 'list' ? [room.catalogue.timeLeft(s.entry, limits)] : []));
  const ttlMs = Math.floor(Math.min(limits.listTtlMs, missing.length > 0 ? PARTIAL_TTL_MS : Infinity, ...ttls));
  const own = exchange.route.aggregate ? undefined : listOf(shares[0]);
  const meta = [own?.meta, unavailableMeta(exchange, missing)].filter((m) => m !== undefined).join(',');
  return {
    kind: 'result',
    resultType: 'complete',
    members: members(room, sight, kind, page, ttlMs, own?.extra),
    ...(meta === '' ? {} : { meta }),
  };
}

function members(room: Room, sight: Sight, kind: ListKind, page: Page, ttlMs: number, extra?: Uint8Array): Uint8Array {
  const cursor = page.next === null ? null : sealCursor(room.deps.ring, sight, kind, page.next);
  const parts: (Uint8Array | string)[] = [`"${LISTS[kind].member}":[`];
  page.items.forEach((item, i) => {
    if (i > 0) parts.push(',');
    parts.push(item);
  });
  parts.push(cursor === null ? ']' : `],"nextCursor":${JSON.stringify(cursor)}`);
  // Filtered by who asks, so it is nobody else's (protocol.md §2.10, GB-056).
  const whole = objectOf([concat(parts), extra, `"ttlMs":${ttlMs},"cacheScope":"private"`]);
  return whole.subarray(1, whole.length - 1);
}

/** Any tool may run as a task here, whatever its server knows of them (protocol.md §1.6 "Tool.execution.taskSupport"). */
function withExecution(shelf: Shelf): Shelf {
  const item = (i: number) => {
    const bytes = shelf.item(i);
    if (bytes === null || findMember(membersOf(bytes, { start: 0, end: bytes.length }), 'execution')) return bytes;
    return concat([bytes.subarray(0, bytes.length - 1), ',"execution":{"taskSupport":"optional"}}']);
  };
  return { ...shelf, item };
}

function listOf(share: Share | undefined): List | undefined {
  if (share?.kind === 'list') return share.entry.value;
  return share?.kind === 'fault' ? share.last?.value : undefined;
}

function shelfOf(sight: Sight, kind: ListKind, share: Share): Shelf {
  const list = listOf(share);
  const server = share.spec.name;
  if (list === undefined) return { server, version: '', count: 0, item: () => null };
  const seen = (name: string) => sight.sees(server, KIND_OF[kind], name);
  if (!sight.exchange.route.aggregate) {
    const { items } = list;
    const item = (i: number) => (seen(items[i]!.name) ? items[i]!.bytes : null);
    return { server, version: list.version, count: items.length, item };
  }
  const { rows } = tableOf(list, server);
  const item = (i: number) => (seen(rows[i]!.item.name) ? rows[i]!.bytes : null);
  return { server, version: list.version, count: rows.length, item };
}
