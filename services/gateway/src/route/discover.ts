// server/discover and what a legacy `initialize` says instead (protocol.md §2.6): only what this caller is really
// served. Capabilities are those we can carry, of servers and kinds the policy shows; both eras get the same truth.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { objectOf } from '@lockkeeper/protocol/json/compose';
import type { ServerCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { TASKS_EXTENSION, UI_EXTENSION } from '@lockkeeper/protocol/mcp/meta';
import { servedRevisions } from '../era/served.ts';
import type { AnswerListener, Exchange } from '../exchange.ts';
import { servesTasks } from '../tasks/offer.ts';
import { mergeInstructions } from './aggregate/instructions.ts';
import { STARTING, tellUnavailable, type Unavailable, unavailableMeta } from './aggregate/outage.ts';
import type { Entry } from './catalogue/kept.ts';
import type { ServerProfile } from './catalogue/profile.ts';
import type { Delivers, Step } from './contract.ts';
import { awaited, faulted, type Room, reach } from './room.ts';
import type { Sight } from './sight.ts';

export interface Declared {
  readonly capabilities: ServerCapabilities;
  readonly instructions?: string;
  readonly missing: readonly Unavailable[];
  readonly entries: readonly Entry<ServerProfile>[];
}

const PARTIAL_TTL_MS = 2000;

export async function declared(room: Room, sight: Sight): Promise<Declared | Extract<Step, { kind: 'fault' }>> {
  const { aggregate } = sight.exchange.route;
  const found = await Promise.all(sight.servers.map((spec) => profileOf(room, sight, spec)));
  const entries: Entry<ServerProfile>[] = [];
  const missing: Unavailable[] = [];
  const parts: { server: string; text: string }[] = [];
  let capabilities: ServerCapabilities = {};
  found.forEach((outcome, i) => {
    const spec = sight.servers[i]!;
    if (outcome.kind === 'fault') {
      missing.push({ spec, fault: outcome.fault });
      return;
    }
    const profile = outcome.entry.value;
    entries.push(outcome.entry);
    capabilities = { ...capabilities, ...carried(profile, spec, sight, room.delivers) };
    if (profile.instructions !== undefined) parts.push({ server: spec.name, text: profile.instructions });
  });
  const stale = sight.final ? undefined : missing.find((m) => m.fault.reason === 'stale-config');
  const failed = aggregate ? stale : missing[0];
  if (failed !== undefined) return { kind: 'fault', fault: failed.fault, spec: failed.spec, era: null };
  // Nothing to show, or nobody to ask now: an endpoint with an empty tool list, not one without methods.
  if (Object.keys(capabilities).length === 0 && entries.length === 0) capabilities = { tools: {} };
  const instructions = aggregate ? mergeInstructions(parts) : parts[0]?.text;
  return { capabilities, missing, entries, ...(instructions === undefined ? {} : { instructions }) };
}

async function profileOf(room: Room, sight: Sight, spec: ServerSpec) {
  const { exchange } = sight;
  const loading = awaited(exchange, room.catalogue.profile(exchange, reach(room, exchange, spec)));
  if (!exchange.route.aggregate) return loading;
  const { owner } = reach(room, exchange, spec);
  return room.patience.wait(exchange, owner, Promise.resolve(loading), { kind: 'fault', fault: STARTING } as const);
}

/** Change notices are declared only if they are delivered, and by an aggregate always then: its members change too. */
function carried(profile: ServerProfile, spec: ServerSpec, sight: Sight, delivers: Delivers): ServerCapabilities {
  const has = profile.capabilities;
  const { aggregate } = sight.exchange.route;
  const changes = (own: { readonly listChanged?: boolean } | undefined) =>
    delivers.listChanged && (aggregate || own?.listChanged === true) ? { listChanged: true } : {};
  const subscribe = delivers.subscribe && has.resources?.subscribe === true ? { subscribe: true } : {};
  const ui = has.extensions?.[UI_EXTENSION];
  const prompts = has.prompts !== undefined && sight.shows(spec.name, 'prompt');
  const resources = has.resources !== undefined && sight.shows(spec.name, 'resource');
  return {
    ...(has.tools !== undefined && sight.shows(spec.name, 'tool') ? { tools: changes(has.tools) } : {}),
    ...(prompts ? { prompts: changes(has.prompts) } : {}),
    ...(resources ? { resources: { ...subscribe, ...changes(has.resources) } } : {}),
    ...(has.completions !== undefined && (prompts || resources) ? { completions: {} } : {}),
    // A shared process cannot tell whose a log line is (design §5).
    ...(has.logging !== undefined && spec.isolation !== 'shared' ? { logging: {} } : {}),
    ...(ui === undefined ? {} : { extensions: { [UI_EXTENSION]: ui } }),
  };
}

export async function answerDiscover(room: Room, sight: Sight, listener: AnswerListener): Promise<Step> {
  const { exchange } = sight;
  const found = await declared(room, sight);
  if ('kind' in found) return faulted(found.fault, found.spec, null);
  tellUnavailable(room, exchange, found.missing, listener);
  const { limits } = exchange.snapshot;
  const ttls = found.entries.map((entry) => room.catalogue.timeLeft(entry, limits));
  const most = found.missing.length > 0 ? PARTIAL_TTL_MS : limits.listTtlMs;
  const only = exchange.route.aggregate ? undefined : found.entries[0]?.value;
  const whole = objectOf([
    `"supportedVersions":${JSON.stringify(servedRevisions(exchange.route))}`,
    `"capabilities":${JSON.stringify(withTasks(room, exchange, found.capabilities))}`,
    found.instructions === undefined ? undefined : `"instructions":${JSON.stringify(found.instructions)}`,
    only?.extra,
    `"ttlMs":${Math.floor(Math.min(most, ...ttls))},"cacheScope":"private"`,
  ]);
  const meta = [only?.meta, unavailableMeta(exchange, found.missing)].filter((m) => m !== undefined).join(',');
  const members = whole.subarray(1, whole.length - 1);
  return { kind: 'result', resultType: 'complete', members, ...(meta === '' ? {} : { meta }) };
}

/** Any long call may become a task here, whatever its server knows of them (design §4 amendment 9). */
function withTasks(room: Room, exchange: Exchange, capabilities: ServerCapabilities): ServerCapabilities {
  if (!servesTasks(room, exchange) || capabilities.tools === undefined) return capabilities;
  return { ...capabilities, extensions: { ...capabilities.extensions, [TASKS_EXTENSION]: {} } };
}
