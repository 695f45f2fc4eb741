// The middle of the walk, the same for both eras: authorize → resolve → call. This is the only file that knows their
// order. It never throws and never picks a status; a refusal is a value (errors.ts), and a fault of the link is put
// into words once, at the end.

import type { ServerCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { LEGACY_METHODS, type MethodFacts, MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import type { Refusal } from '../errors.ts';
import type { Answer, AnswerFn, AnswerListener, Ask, Exchange } from '../exchange.ts';
import type { Kind } from '../policy/decide.ts';
import type { StateContent } from '../seal/state.ts';
import { answerTask } from '../tasks/answer-task.ts';
import { answerLegacyTask, servesLegacyTasks } from '../tasks/legacy-tasks.ts';
import { createPatience } from './aggregate/patience.ts';
import { callUpstream } from './call.ts';
import { createCatalogue } from './catalogue/catalogue.ts';
import type { ListKind } from './catalogue/items.ts';
import type { Outcome } from './catalogue/kept.ts';
import { offers, type ServerProfile } from './catalogue/profile.ts';
import type { RouteDeps, RouteLog, Step, Upstream } from './contract.ts';
import { answerDiscover, declared } from './discover.ts';
import { createInFlight } from './in-flight.ts';
import { answerList } from './lists.ts';
import { checkParams } from './param-check.ts';
import { type Continued, continuedBy, sealedTarget, sealedUpstream } from './questions/retry.ts';
import { refusalOf, refused, tellOperator } from './refuse.ts';
import { resolve, type Target } from './resolve.ts';
import { awaited, faulted, type Room, reach } from './room.ts';
import { type Sight, sightOf } from './sight.ts';
import { createUnderWay } from './under-way.ts';
import { badArguments, unoffered } from './unfit.ts';
import { checkListed } from './unlisted.ts';

export type InitializeInfo =
  | { readonly kind: 'info'; readonly capabilities: ServerCapabilities; readonly instructions?: string }
  | { readonly kind: 'refusal'; readonly refusal: Refusal };

export interface Route {
  readonly answer: AnswerFn;
  /** What a legacy `initialize` declares: the same truth as server/discover, to be cut to the client's revision. */
  initializeInfo(exchange: Exchange): Promise<InitializeInfo>;
  /** For what is served beside the walk: listens (listen/). */
  readonly room: Room;
}

/** A stream of its own, served beside the walk (listen/stream.ts); where it comes here, nobody serves it. */
const BESIDE: ReadonlySet<string> = new Set(['subscriptions/listen']);
/** What only legacy callers ask and this walk answers (protocol.md §1.2). */
const SUBSCRIBING: ReadonlySet<string> = new Set(['resources/subscribe', 'resources/unsubscribe']);

const LIST_KINDS: ReadonlyMap<string, ListKind> = new Map([
  ['tools/list', 'tools'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'templates'],
]);

const LEGACY_TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } };

const STALE_WAIT_MS = 250;

export function createRoute(deps: RouteDeps): Route {
  const delivers = deps.delivers ?? { listChanged: false, subscribe: false };
  const underWay = createUnderWay(({ exchange, xid }) => {
    const { principal } = exchange.caller;
    deps.link.cancel?.(principal.tenant, null, xid, principal, exchange.session);
  });
  deps.config.onChange((next) => underWay.reload(next));
  const room: Room = {
    deps,
    delivers,
    catalogue: createCatalogue(deps),
    underWay,
    patience: createPatience(deps.clock),
  };
  const inFlight = createInFlight();

  async function answer(exchange: Exchange, ask: Ask, listener: AnswerListener): Promise<Answer> {
    const leave = inFlight.enter(exchange);
    if (leave === null) return refused('too-many', { retryAfterMs: 1000 });
    let found: Answer;
    try {
      const sight = sightOf(exchange, false, deps.observer);
      const going = walk(room, sight, ask, listener);
      const step = going instanceof Promise ? await going : going;
      const stale = step.kind === 'fault' && step.fault.reason === 'stale-config';
      found = stale ? await answerRenewed(exchange, ask, listener) : worded(deps.log, step, sight, ask);
    } catch (error) {
      deps.log.warn({ err: error, xid: exchange.xid, method: ask.method }, 'answer failed');
      found = refused('internal');
    }
    // A result that nobody reads is held all the same (auth-security.md T-47). What is asked again is not over.
    const held = found.kind === 'result' && found.resultType === 'complete';
    if (held && exchange.replied !== undefined) exchange.replied(leave);
    else leave();
    return found;
  }

  async function answerRenewed(exchange: Exchange, ask: Ask, listener: AnswerListener): Promise<Answer> {
    const renewed = await renew(deps, exchange);
    if (renewed === null) return refused('unavailable', { retryAfterMs: 1000 });
    const again = sightOf(renewed, true, deps.observer);
    return worded(deps.log, await walk(room, again, ask, listener), again, ask);
  }

  async function initializeInfo(exchange: Exchange): Promise<InitializeInfo> {
    try {
      const found = await declared(room, sightOf(exchange, true, deps.observer));
      if ('kind' in found) {
        tellOperator(deps.log, found.fault, found.spec, exchange);
        return { kind: 'refusal', refusal: refusalOf(found.fault, found.spec, null, exchange, NO_ASK) };
      }
      const { instructions } = found;
      const bridged = servesLegacyTasks(room, exchange) && found.capabilities.tools !== undefined;
      const capabilities = bridged ? { ...found.capabilities, tasks: LEGACY_TASKS } : found.capabilities;
      return { kind: 'info', capabilities, ...(instructions === undefined ? {} : { instructions }) };
    } catch (error) {
      deps.log.warn({ err: error, xid: exchange.xid, method: 'initialize' }, 'answer failed');
      return { kind: 'refusal', refusal: { reason: 'internal' } };
    }
  }

  return { answer, initializeInfo, room };
}

function walk(room: Room, sight: Sight, ask: Ask, listener: AnswerListener): Step | Promise<Step> {
  const facts = factsOf(sight.exchange, ask.method);
  if (facts === undefined || BESIDE.has(ask.method)) return refused('unknown-method');
  if (ask.method === 'server/discover') return answerDiscover(room, sight, listener);
  if (facts.capability === 'tasks') {
    if (servesLegacyTasks(room, sight.exchange)) return answerLegacyTask(room, sight, ask, listener);
    return answerTask(room, sight, ask);
  }
  const denied = authorize(sight, facts);
  if (denied !== null) return denied;
  const list = LIST_KINDS.get(ask.method);
  if (list !== undefined) return answerList(room, sight, ask, list, listener);
  return named(room, sight, facts, ask, listener);
}

function factsOf(exchange: Exchange, method: string): MethodFacts | undefined {
  if (exchange.era === 'legacy' && (SUBSCRIBING.has(method) || method.startsWith('tasks/'))) {
    return LEGACY_METHODS.get(method);
  }
  return MODERN_METHODS.get(method);
}

const KINDS: Readonly<Record<string, readonly Kind[]>> = {
  tools: ['tool'],
  prompts: ['prompt'],
  resources: ['resource'],
  completions: ['prompt', 'resource'],
};

/**
 * Names only. A capability of which the policy shows nothing is one that is not there; who sees nothing at all gets
 * an endpoint with an empty tool list (see discover.ts).
 */
function authorize(sight: Sight, facts: MethodFacts): Answer | null {
  const kinds = facts.capability === undefined ? undefined : KINDS[facts.capability];
  if (kinds === undefined) return refused('unknown-method');
  if (sight.servers.length === 0) return kinds.includes('tool') ? null : refused('unknown-method');
  const shown = sight.servers.some((spec) => kinds.some((kind) => sight.shows(spec.name, kind)));
  return shown ? null : refused('unknown-method');
}

/** A request about one named thing of one server. */
function named(room: Room, sight: Sight, facts: MethodFacts, ask: Ask, listener: AnswerListener): Step | Promise<Step> {
  const continued: Continued = facts.mrtr ? continuedBy(room, sight.exchange, ask) : FRESH;
  if (continued.kind === 'state') return goneOn(room, sight, facts, continued.content, ask, listener);
  const found = resolve(room, sight, ask);
  const visit = (target: Target | Step): Step | Promise<Step> => {
    if (target.kind !== 'target') return continued.kind === 'bad' ? { ...target, ...noted(continued) } : target;
    const step = atServer({ room, sight, facts, target, continued, ask, listener });
    const { name } = target.spec;
    return step instanceof Promise ? step.then((late) => attributed(late, name)) : attributed(step, name);
  };
  return found instanceof Promise ? found.then(visit) : visit(found);
}

const FRESH: Continued = { kind: 'none' };

/** A refusal that came of a call says of which server. */
function attributed(step: Step, server: string): Step {
  return step.kind === 'refusal' ? { ...step, server } : step;
}

/** A retry goes on at the server whose question it answers. */
async function goneOn(
  room: Room,
  sight: Sight,
  facts: MethodFacts,
  content: StateContent,
  ask: Ask,
  listener: AnswerListener,
): Promise<Step> {
  const target = sealedTarget(sight, ask, content);
  if (target.kind !== 'target') return target;
  const step = await again(room, sight, facts, target, content, ask, listener);
  return { ...step, server: target.spec.name, continues: content.xid };
}

/** One request at the one server it is for. */
interface Visit {
  readonly room: Room;
  readonly sight: Sight;
  readonly facts: MethodFacts;
  readonly target: Target;
  readonly continued: Exclude<Continued, { kind: 'state' }>;
  readonly ask: Ask;
  readonly listener: AnswerListener;
}

/** Waits only where something is not known yet: on a warm server nothing is (design §11). */
function atServer(visit: Visit): Step | Promise<Step> {
  const { room, sight, target, ask } = visit;
  const malformed = badArguments(ask);
  if (malformed !== null) return malformed;
  const up = reach(room, sight.exchange, target.spec);
  const known = awaited(sight.exchange, room.catalogue.knownProfile(sight.exchange, up));
  return known instanceof Promise ? known.then((profile) => asKnown(visit, up, profile)) : asKnown(visit, up, known);
}

function asKnown(visit: Visit, up: Upstream, profile: Outcome<ServerProfile>): Step | Promise<Step> {
  const { room, sight, facts, target, ask } = visit;
  if (profile.kind === 'fault') return faulted(profile.fault, target.spec, null);
  const { value } = profile.entry;
  if (facts.capability !== undefined && !offers(value, facts.capability)) {
    return unoffered(room, sight, facts.capability, target.name, ask);
  }
  if (SUBSCRIBING.has(ask.method) && value.capabilities.resources?.subscribe !== true) return refused('unknown-method');
  if (ask.method !== 'tools/call') return asJudged(visit, up, value, null);
  const unlisted = checkListed(room, sight.exchange, up, value, target.name);
  if (unlisted === null) return asListed(visit, up, value);
  return unlisted.then((step) => (step === null ? asListed(visit, up, value) : step));
}

function asListed(visit: Visit, up: Upstream, value: ServerProfile): Step | Promise<Step> {
  const { room, sight, target, ask } = visit;
  const bad = checkParams(room, sight.exchange, up, value, ask, target.name);
  return bad instanceof Promise
    ? bad.then((step) => asJudged(visit, up, value, step))
    : asJudged(visit, up, value, bad);
}

function asJudged(visit: Visit, up: Upstream, { era }: ServerProfile, bad: Step | null): Step | Promise<Step> {
  const { room, sight, facts, target, continued, ask, listener } = visit;
  if (bad !== null) return bad;
  // After what is wrong with the request itself (protocol.md §2.1 #21).
  if (continued.kind === 'bad') return { ...refused('bad-state'), ...noted(continued) };
  return callUpstream(room, sight.exchange, { up, era, facts, target }, ask, listener);
}

/** For the audit row: someone tried a state that is not theirs, or not for this (protocol.md Part 6 #3, #14). */
function noted({ why }: Extract<Continued, { kind: 'bad' }>): { readonly detail: string } {
  return { detail: `requestState: ${why}` };
}

/** At the server that asked, under the configuration it asked under. Nothing needs to be looked up. */
async function again(
  room: Room,
  sight: Sight,
  facts: MethodFacts,
  target: Target,
  continued: StateContent,
  ask: Ask,
  listener: AnswerListener,
): Promise<Step> {
  const { exchange } = sight;
  if (continued.era === 'modern' && ask.method === 'tools/call' && ask.paramHeaders !== undefined) {
    const up = reach(room, exchange, target.spec);
    const profile = await awaited(exchange, room.catalogue.knownProfile(exchange, up));
    if (profile.kind === 'fault') return faulted(profile.fault, target.spec, null);
    const bad = await checkParams(room, exchange, up, profile.entry.value, ask, target.name);
    if (bad !== null) return bad;
  }
  const up = sealedUpstream(room, exchange, target, continued);
  const step = await callUpstream(room, exchange, { up, era: continued.era, facts, target, continued }, ask, listener);
  if (step.kind !== 'fault' || step.fault.reason !== 'stale-config') return step;
  // Ours may be newer than the node's for a moment; what it was asked under may also be no more, for good.
  return sight.final || continued.digest !== target.spec.digest ? refused('bad-state') : step;
}

function worded(log: RouteLog, step: Step, { exchange, rule }: Sight, ask: Ask): Answer {
  if (step.kind !== 'fault') return rule === undefined ? step : { ...step, rule };
  tellOperator(log, step.fault, step.spec, exchange);
  return {
    kind: 'refusal',
    refusal: refusalOf(step.fault, step.spec, step.era, exchange, ask),
    server: step.spec.name,
    ...(step.continues === undefined ? {} : { continues: step.continues }),
    ...(rule === undefined ? {} : { rule }),
  };
}

/**
 * The node knows another configuration than we had. Ours may be the old one: once more with what is current now, and
 * if that is the same, after a moment in which the node may catch up. Null: the route is no more.
 */
async function renew(deps: RouteDeps, exchange: Exchange): Promise<Exchange | null> {
  if (deps.config.current().version === exchange.snapshot.version) {
    await new Promise<void>((resume) => deps.clock.setTimer(STALE_WAIT_MS, resume));
  }
  const snapshot = deps.config.current();
  const route = snapshot.routes.find((r) => r.path === exchange.route.path && r.tenant === exchange.route.tenant);
  return route === undefined ? null : { ...exchange, snapshot, route };
}

const NO_ASK: Ask = { method: 'initialize', bytes: new Uint8Array(0), params: [], progress: false };
