// A request that goes on with an exchange: its `requestState` opened, and what it was for found again by the seal, not
// by today's tables (protocol.md §2.8 #5–#8, design §5 "Reload"). Authorised by today's policy all the same.

import { findMember, membersOf, stringOf } from '@lockkeeper/protocol/json/scan';
import type { Ask, Exchange } from '../../exchange.ts';
import type { Kind } from '../../policy/decide.ts';
import { openState, type StateContent, type StateRefusal } from '../../seal/state.ts';
import { renamed } from '../body.ts';
import type { Step, Upstream } from '../contract.ts';
import { refused, unknownName, unknownResource } from '../refuse.ts';
import type { Target } from '../resolve.ts';
import type { Room } from '../room.ts';
import type { Sight } from '../sight.ts';
import { upstreamOf } from '../upstream.ts';
import { bindingOf } from './binding.ts';

/** `none`: a request of its own. `bad`: it carries something that does not count, whatever the reason. */
export type Continued =
  | { readonly kind: 'none' }
  | { readonly kind: 'bad'; readonly why: StateRefusal }
  | { readonly kind: 'state'; readonly content: StateContent };

const NONE: Continued = { kind: 'none' };

export function continuedBy(room: Room, exchange: Exchange, ask: Ask): Continued {
  const member = findMember(ask.params, 'requestState');
  if (member === undefined) return NONE;
  const text = stringOf(ask.bytes, member);
  let why: StateRefusal = 'unreadable';
  const content =
    text === undefined
      ? null
      : openState(room.deps.ring, bindingOf(exchange, ask), text, (refusal) => {
          why = refusal;
        });
  if (content !== null) return { kind: 'state', content };
  room.deps.observer?.stateRefused?.(exchange, ask.method, why);
  return { kind: 'bad', why };
}

const KINDS: Readonly<Record<string, Kind>> = {
  'tools/call': 'tool',
  'prompts/get': 'prompt',
  'resources/read': 'resource',
};

/** What is no longer allowed, or no longer there, is refused as if it had been asked for anew. */
export function sealedTarget(sight: Sight, ask: Ask, { server, name }: StateContent): Target | Step {
  const kind = KINDS[ask.method];
  const member = findMember(ask.params, kind === 'resource' ? 'uri' : 'name');
  if (kind === undefined || member === undefined || ask.name === undefined) return refused('bad-state');
  const spec = sight.servers.find((s) => s.name === server);
  if (spec === undefined || !sight.may(server, kind, name)) {
    return kind === 'resource' ? unknownResource(ask.name) : unknownName(kind, ask.name);
  }
  return { kind: 'target', spec, name, edits: sight.exchange.route.aggregate ? [renamed(member, name)] : [] };
}

/** Under the digest of the seal: the node keeps a retired one until its last obligation ends. */
export function sealedUpstream(room: Room, exchange: Exchange, target: Target, { digest }: StateContent): Upstream {
  const spec = digest === target.spec.digest ? target.spec : { ...target.spec, digest };
  return upstreamOf(exchange, spec, room.deps.questions ?? false);
}

/**
 * An answer under a key of ours would be the closed extension of the link, by which our own legacy leg tells of a
 * refusal (design §4): a modern caller has no such word.
 */
export function foreignAnswer(exchange: Exchange, ask: Ask): string | null {
  if (exchange.era === 'legacy') return null;
  const member = findMember(ask.params, 'inputResponses');
  if (member?.kind !== 'object') return null;
  for (const entry of membersOf(ask.bytes, member)) {
    if (entry.kind !== 'object') continue;
    if (membersOf(ask.bytes, entry).some(({ key }) => key.startsWith('lk/'))) return entry.key;
  }
  return null;
}
