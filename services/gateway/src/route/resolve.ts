// Names become things here, after the policy has had its say: which server a named request is for, under which name
// that server knows it, and the edits that put that name into the request. On a one-server route the name is the
// server's own; on an aggregate it is looked up in the table of what this caller may see, so a hidden name and one
// that does not exist take the same way out.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Edit } from '@lockkeeper/protocol/json/compose';
import { findMember } from '@lockkeeper/protocol/json/scan';
import { aggregatePrefix, splitUri } from '@lockkeeper/protocol/mcp/names';
import type { Ask } from '../exchange.ts';
import { tableOf } from './aggregate/table.ts';
import { type Ref, refOf, renamed } from './body.ts';
import { offers } from './catalogue/profile.ts';
import type { Step } from './contract.ts';
import { refused, unknownName, unknownResource } from './refuse.ts';
import { awaited, faulted, type Room, reach } from './room.ts';
import type { Sight } from './sight.ts';

export interface Target {
  readonly kind: 'target';
  readonly spec: ServerSpec;
  /** The server's own name or URI. */
  readonly name: string;
  readonly edits: readonly Edit[];
}

/** `tools/call`, `prompts/get`, `resources/read`, `completion/complete`, legacy `resources/subscribe`. */
export function resolve(room: Room, sight: Sight, ask: Ask): Target | Step | Promise<Target | Step> {
  if (ask.method === 'completion/complete') {
    const ref = refOf(ask);
    if (ref === null)
      return refused('invalid-params', { message: 'params.ref is no reference to a prompt or resource.' });
    return ref.kind === 'prompt' ? named(room, sight, 'prompt', ref) : located(sight, ref);
  }
  const key = ask.method.startsWith('resources/') ? 'uri' : 'name';
  const member = findMember(ask.params, key);
  if (ask.name === undefined || member === undefined) {
    return refused('invalid-params', { message: `params.${key} must be a string.` });
  }
  const ref = { name: ask.name, member };
  if (key === 'uri') return located(sight, ref);
  return named(room, sight, ask.method === 'tools/call' ? 'tool' : 'prompt', ref);
}

type Named = Pick<Ref, 'name' | 'member'>;

function located(sight: Sight, { name: uri, member }: Named): Target | Step {
  const { aggregate } = sight.exchange.route;
  const split = aggregate ? splitUri(uri) : { uri, server: sight.servers[0]?.name ?? '' };
  const spec = sight.servers.find((s) => s.name === split?.server);
  if (split === null || spec === undefined || !sight.may(spec.name, 'resource', split.uri)) return unknownResource(uri);
  return { kind: 'target', spec, name: split.uri, edits: aggregate ? [renamed(member, split.uri)] : [] };
}

function named(room: Room, sight: Sight, kind: 'tool' | 'prompt', ref: Named): Target | Step | Promise<Target | Step> {
  if (sight.exchange.route.aggregate) return lookedUp(room, sight, kind, ref);
  const spec = sight.servers[0];
  if (spec === undefined || !sight.may(spec.name, kind, ref.name)) return unknownName(kind, ref.name);
  return { kind: 'target', spec, name: ref.name, edits: [] };
}

async function lookedUp(room: Room, sight: Sight, kind: 'tool' | 'prompt', ref: Named): Promise<Target | Step> {
  const candidates = sight.servers.filter(
    (spec) => sight.shows(spec.name, kind) && ref.name.startsWith(aggregatePrefix(spec.name)),
  );
  let fault: Step | null = null;
  let hidden: readonly [string, string] | null = null;
  for (const how of ['table', 'anew'] as const) {
    for (const spec of candidates) {
      const found = await inTable(room, sight, spec, kind, ref.name, how);
      if (typeof found !== 'string' && found !== null) fault ??= found;
      if (typeof found !== 'string') continue;
      if (!sight.sees(spec.name, kind, found)) {
        hidden = [spec.name, found];
      } else if (sight.may(spec.name, kind, found)) {
        return { kind: 'target', spec, name: found, edits: [renamed(ref.member, found)] };
      }
    }
  }
  if (fault === null) deniedByName(sight, kind, ref.name, hidden);
  return fault ?? unknownName(kind, ref.name);
}

/** The caller hears the same of what is hidden and of what is not there; the audit tells them apart (P-15). */
function deniedByName(
  sight: Sight,
  kind: 'tool' | 'prompt',
  alias: string,
  hidden: readonly [string, string] | null,
): void {
  const { servers } = sight.exchange.route;
  const closed = servers.find((name) => !sight.shows(name, kind) && alias.startsWith(aggregatePrefix(name)));
  if (hidden !== null) sight.may(hidden[0], kind, hidden[1]);
  else if (closed !== undefined) sight.may(closed, kind, alias);
}

/** The server's own name, seen by the caller or not; null when it has none such; a step when its table cannot be had. */
async function inTable(
  room: Room,
  sight: Sight,
  spec: ServerSpec,
  kind: 'tool' | 'prompt',
  alias: string,
  how: 'table' | 'anew',
): Promise<string | null | Step> {
  const { exchange } = sight;
  const up = reach(room, exchange, spec);
  const profile = await awaited(exchange, room.catalogue.knownProfile(exchange, up));
  if (profile.kind === 'fault') return faulted(profile.fault, spec, null);
  const list = kind === 'tool' ? 'tools' : 'prompts';
  if (!offers(profile.entry.value, list)) return null;
  const outcome = await awaited(exchange, room.catalogue[how](exchange, up, profile.entry.value, list));
  if (outcome.kind === 'fault') return faulted(outcome.fault, spec, profile.entry.value.era);
  return tableOf(outcome.entry.value, spec.name).byAlias.get(alias)?.item.name ?? null;
}
