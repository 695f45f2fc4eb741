// Ladder row 19 (protocol.md §2.1, §2.7; GB-097 (d)) on a one-server route: a modern caller's tool that is not in the list
// of its server is unknown, whatever the server would make of it. A call of a listed tool costs one look-up; only where
// the kept list lacks the name is the list loaded anew before that is believed, and a list that cannot be had refuses nothing.

import type { Exchange } from '../exchange.ts';
import type { List } from './catalogue/items.ts';
import type { ServerProfile } from './catalogue/profile.ts';
import type { Step, Upstream } from './contract.ts';
import { unknownName } from './refuse.ts';
import { awaited, type Room } from './room.ts';

/** Null when the call may go on. On an aggregate the name was looked up to get here. */
export function checkListed(
  room: Room,
  exchange: Exchange,
  up: Upstream,
  profile: ServerProfile,
  name: string,
): null | Promise<Step | null> {
  if (exchange.era !== 'modern' || exchange.route.aggregate) return null;
  const last = room.catalogue.last(up, 'tools');
  if (last === undefined || isThere(last.value, name)) return null;
  return checkAnew(room, exchange, up, profile, name);
}

async function checkAnew(
  room: Room,
  exchange: Exchange,
  up: Upstream,
  profile: ServerProfile,
  name: string,
): Promise<Step | null> {
  const anew = await awaited(exchange, room.catalogue.anew(exchange, up, profile, 'tools'));
  if (anew.kind === 'fault' || isThere(anew.entry.value, name)) return null;
  return unknownName('tool', name);
}

/** One that is withheld for its annotations is the business of param-check.ts. */
function isThere(list: List, name: string): boolean {
  return list.byName.has(name) || list.dropped.has(name);
}
