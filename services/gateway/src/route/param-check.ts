// Ladder row 20 (protocol.md §2.1, §2.3): the Mcp-Param-* headers of a modern caller against the arguments, by the
// tool's schema. A cold replica loads the list first; a check that cannot be made is never passed. A mismatch may be
// ours, by an old schema, so it refreshes the list once before it is believed.

import { findMember, parseSpan } from '@lockkeeper/protocol/json/scan';
import { checkParamHeaders } from '@lockkeeper/protocol/mcp/param-headers';
import type { Ask, Exchange } from '../exchange.ts';
import type { List } from './catalogue/items.ts';
import type { Outcome } from './catalogue/kept.ts';
import type { ServerProfile } from './catalogue/profile.ts';
import type { Step, Upstream } from './contract.ts';
import { refused, unknownName } from './refuse.ts';
import { awaited, faulted, type Room } from './room.ts';

/** Null when the call may go on. `name` is the server's own name of the tool. */
export function checkParams(
  room: Room,
  exchange: Exchange,
  up: Upstream,
  profile: ServerProfile,
  ask: Ask,
  name: string,
): Step | null | Promise<Step | null> {
  if (ask.paramHeaders === undefined || profile.era === 'legacy') return null;
  const near = awaited(exchange, room.catalogue.near(exchange, up, profile));
  // The list is nearly always there, and right.
  if (!(near instanceof Promise) && near.kind === 'kept' && judge(near.entry.value, ask, name) === null) return null;
  return checkAnew(room, exchange, up, profile, ask, name, near);
}

async function checkAnew(
  room: Room,
  exchange: Exchange,
  up: Upstream,
  profile: ServerProfile,
  ask: Ask,
  name: string,
  loading: Outcome<List> | Promise<Outcome<List>>,
): Promise<Step | null> {
  const near = await loading;
  if (near.kind === 'fault') return faulted(near.fault, up.spec, profile.era);
  if (judge(near.entry.value, ask, name) === null) return null;
  const anew = await awaited(exchange, room.catalogue.anew(exchange, up, profile, 'tools'));
  if (anew.kind === 'fault') return faulted(anew.fault, up.spec, profile.era);
  const why = judge(anew.entry.value, ask, name);
  if (why === null || why === 'unlisted') return null;
  return why === 'dropped' ? unknownName('tool', ask.name ?? name) : refused('header-mismatch', { message: why });
}

/**
 * `unlisted`: perhaps a newer tool than our list; asked for again. A tool that its server does not list even then has
 * no annotations that a client could know of, and is the server's to refuse.
 */
function judge(list: List, ask: Ask, name: string): string | null {
  const item = list.byName.get(name);
  if (item === undefined) return list.dropped.has(name) ? 'dropped' : 'unlisted';
  if (item.headers === undefined) return null;
  return checkParamHeaders(item.headers, argumentsOf(ask), ask.paramHeaders!);
}

function argumentsOf(ask: Ask): unknown {
  const member = findMember(ask.params, 'arguments');
  return member === undefined ? undefined : parseSpan(ask.bytes, member);
}
