// The numbers (design §9), `lockkeeper_<room>_<thing>_<unit>`. Labels are bounded by configuration or by a list of
// ours: no user ids, no names that a stranger chooses.

import { LEGACY_METHODS, MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import type { Era } from '@lockkeeper/protocol/mcp/revision';
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { tallied, timed } from './tally.ts';

export interface Metrics {
  readonly registry: Registry;
  httpResponse(verb: string, status: number): void;
  exchangeBegan(): void;
  exchangeEnded(era: Era | null, tenant: string, method: string | null, outcome: string, seconds: number): void;
  authRefused(reason: string): void;
  tokenChecked(how: 'cached' | 'verified' | 'refused'): void;
  keysFetched(result: 'ok' | 'failed'): void;
  policyDecided(tenant: string, rule: string, allow: boolean): void;
  catalogueLoaded(kind: string, source: 'store' | 'link' | 'fault'): void;
  serverLeftOut(tenant: string, server: string, reason: string): void;
  stateRefused(why: string): void;
  streamOpened(): void;
  streamClosed(): void;
}

const VERBS = new Set(['GET', 'POST', 'DELETE', 'OPTIONS', 'HEAD']);
/** Texts of the commonest, so that none is made for each answer. */
const STATUS: Readonly<Record<number, string>> = { 200: '200', 202: '202', 400: '400', 401: '401', 404: '404' };
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Anything a stranger could make up becomes `other`. */
export function methodLabel(method: string | null): string {
  if (method === null) return 'none';
  if (MODERN_METHODS.has(method) || LEGACY_METHODS.has(method)) return method;
  return method.startsWith('notifications/') ? 'notification' : 'other';
}

export function createMetrics(options: { readonly processMetrics: boolean }): Metrics {
  const registry = new Registry();
  const registers = [registry];
  if (options.processMetrics) collectDefaultMetrics({ register: registry, prefix: 'lockkeeper_' });
  const http = tallied(
    'lockkeeper_http_responses_total',
    'HTTP responses by verb and status.',
    ['verb', 'status'],
    registers,
  );
  const exchanges = tallied(
    'lockkeeper_exchange_ended_total',
    'Exchanges by tenant, era, method and outcome.',
    ['tenant', 'era', 'method', 'outcome'],
    registers,
  );
  const seconds = timed(
    'lockkeeper_exchange_duration_seconds',
    'From the door to the last byte handed over.',
    ['era', 'method'],
    SECONDS,
    registers,
  );
  let under = 0;
  const open: Gauge = new Gauge({
    name: 'lockkeeper_exchange_open',
    help: 'Exchanges that have begun and not ended.',
    registers,
    collect: () => open.set(under),
  });
  const streams = gauge('lockkeeper_http_streams_open', 'SSE responses that are open.', registers);
  const auth = counterBy(
    'lockkeeper_auth_refused_total',
    'Requests refused before their body was read.',
    'reason',
    registers,
  );
  const tokens = tallied('lockkeeper_auth_tokens_total', 'Tokens checked, by how.', ['how'], registers);
  const keys = counterBy('lockkeeper_auth_key_reads_total', 'Key sets read from issuers.', 'result', registers);
  const decisions = tallied(
    'lockkeeper_policy_decisions_total',
    'Names judged for a call, by tenant, rule and decision.',
    ['tenant', 'rule', 'decision'],
    registers,
  );
  const loads = new Counter({
    name: 'lockkeeper_catalogue_loads_total',
    help: 'Lists and profiles of servers, by kind and where they came from.',
    labelNames: ['kind', 'source'] as const,
    registers,
  });
  const leftOut = new Counter({
    name: 'lockkeeper_route_left_out_total',
    help: 'Servers left out of an answer of an aggregate, by reason.',
    labelNames: ['tenant', 'server', 'reason'] as const,
    registers,
  });
  const states = counterBy(
    'lockkeeper_seal_states_refused_total',
    'requestStates that did not count.',
    'why',
    registers,
  );
  const child = childCache();
  return {
    registry,
    httpResponse: (verb, status) => {
      const known = VERBS.has(verb) ? verb : 'other';
      http
        .at(known)
        .at(STATUS[status] ?? String(status))
        .add();
    },
    exchangeBegan: () => {
      under += 1;
    },
    exchangeEnded: (era, tenant, method, outcome, took) => {
      const e = era ?? 'none';
      const m = methodLabel(method);
      under -= 1;
      exchanges.at(tenant).at(e).at(m).at(outcome).add();
      seconds.observe(e, m, took);
    },
    authRefused: (reason) => child(`a ${reason}`, () => auth.labels(reason)).inc(),
    tokenChecked: (how) => tokens.at(how).add(),
    keysFetched: (result) => keys.labels(result).inc(),
    policyDecided: (tenant, rule, allow) =>
      decisions
        .at(tenant)
        .at(rule)
        .at(allow ? 'allow' : 'deny')
        .add(),
    catalogueLoaded: (kind, source) => child(`c ${kind} ${source}`, () => loads.labels(kind, source)).inc(),
    serverLeftOut: (tenant, server, reason) =>
      child(`l ${tenant} ${server} ${reason}`, () => leftOut.labels(tenant, server, reason)).inc(),
    stateRefused: (why) => states.labels(why).inc(),
    streamOpened: () => streams.inc(),
    streamClosed: () => streams.dec(),
  };
}

function gauge(name: string, help: string, registers: Registry[]): Gauge {
  return new Gauge({ name, help, registers });
}

function counterBy<L extends string>(name: string, help: string, label: L, registers: Registry[]): Counter<L> {
  return new Counter({ name, help, labelNames: [label], registers });
}

/** `labels()` hashes on each call; its answer is kept. Bounded because the labels are. */
function childCache() {
  const children = new Map<string, unknown>();
  return <C>(key: string, make: () => C): C => {
    const seen = children.get(key);
    if (seen !== undefined) return seen as C;
    const made = make();
    children.set(key, made);
    return made;
  };
}
