// Why a request that names one thing of one server does not go there: its arguments are none, or the server has nothing
// of that kind, though the route may have.

import { findMember } from '@lockkeeper/protocol/json/scan';
import type { Answer, Ask } from '../exchange.ts';
import { NO_VALUES } from './call.ts';
import type { Step } from './contract.ts';
import { declared } from './discover.ts';
import { refused, unknownResource } from './refuse.ts';
import type { Room } from './room.ts';
import type { Sight } from './sight.ts';

/** Servers fail in their own ways of what is no object (tools/call and prompts/get). */
export function badArguments(ask: Ask): Answer | null {
  if (ask.method !== 'tools/call' && ask.method !== 'prompts/get') return null;
  const member = findMember(ask.params, 'arguments');
  if (member === undefined || member.kind === 'object') return null;
  return refused('invalid-params', { message: 'params.arguments must be an object.' });
}

/** What the route declares is a method that it has (protocol.md §2.6 "capability truth"): only the thing is unknown. */
export async function unoffered(room: Room, sight: Sight, capability: string, name: string, ask: Ask): Promise<Step> {
  if (!sight.exchange.route.aggregate) return refused('unknown-method');
  const found = await declared(room, sight);
  const offered = !('kind' in found) && capability in found.capabilities;
  if (!offered) return refused('unknown-method');
  if (capability === 'resources') return unknownResource(ask.name ?? name);
  return capability === 'completions' ? NO_VALUES : refused('unknown-method');
}
