// From an exchange and a server spec to what the link needs: owner key, capabilities cut by `ask`, envelope. Pure.

import { mayAsk, nodesOf, type ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Principal, TaskOffer } from '@lockkeeper/protocol/link/frames';
import { ownerKey } from '@lockkeeper/protocol/link/keys';
import { type AskSettings, fingerprintOf, projectCapabilities } from '@lockkeeper/protocol/mcp/fingerprint';
import { MODERN } from '@lockkeeper/protocol/mcp/revision';
import type { Ask, Exchange } from '../exchange.ts';
import type { LinkRequest } from '../link/contract.ts';
import type { StateContent } from '../seal/state.ts';
import type { Upstream } from './contract.ts';

const NEVER: AskSettings = { roots: 'never', sampling: 'never', elicitation: 'never' };

/** The node cuts down further, to the revision that is spoken upstream; here only what the caller and `ask` allow. */
export function upstreamOf(exchange: Exchange, spec: ServerSpec, questions: boolean): Upstream {
  const { principal } = exchange.caller;
  // What cannot be bound to a client is not asked for (design §7 "claims.client").
  const ask = questions && principal.client !== null ? spec.ask : NEVER;
  const capabilities = projectCapabilities(exchange.capabilities, ask, spec.isolation, MODERN);
  const owner = ownerKey({
    server: spec.name,
    digest: spec.digest,
    isolation: spec.isolation,
    principal,
    session: exchange.session,
    mayAsk: mayAsk(spec),
  });
  return { spec, owner, capabilities, context: contextOf(owner, spec, principal, fingerprintOf(capabilities)) };
}

/** `shared` servers see no caller, so their lists are everybody's; else the person's and the client's. */
function contextOf(owner: string, spec: ServerSpec, principal: Principal, fingerprint: string): string {
  if (spec.isolation === 'shared') return owner;
  return `${owner}\n${principal.client ?? ''}\n${fingerprint}`;
}

/** What a request carries besides its envelope. */
export interface Errand {
  readonly method: string;
  readonly body: Uint8Array;
  readonly safe: boolean;
  readonly name?: string | undefined;
  /** The caller's own request; absent when the gateway asks for itself. */
  readonly ask?: Ask;
  /** What it goes on with. */
  readonly continued?: StateContent | undefined;
  readonly task?: TaskOffer | undefined;
}

export function linkRequest(exchange: Exchange, up: Upstream, xid: string, errand: Errand): LinkRequest {
  const { ask } = errand;
  const { limits } = exchange.snapshot;
  const human = ask?.wait === true ? limits.humanMs : 0;
  const request: Made = {
    owner: up.owner,
    nodes: nodesOf(up.spec),
    xid,
    method: errand.method,
    server: up.spec.name,
    digest: up.spec.digest,
    principal: exchange.caller.principal,
    session: exchange.session,
    capabilities: up.capabilities,
    downstreamEra: exchange.era,
    progress: ask?.progress ?? false,
    // The node bounds start, queue and call apart; together they are the longest anyone waits here (GB-026),
    // but for those who wait for a person.
    deadlineMs: up.spec.startTimeoutMs + limits.queueMs + up.spec.callTimeoutMs + human,
    onVanish: ask === undefined ? 'cancel' : exchange.onVanish,
    body: errand.body,
    safe: errand.safe,
  };
  addRare(request, exchange, up, errand);
  return request;
}

type Made = { -readonly [M in keyof LinkRequest]: LinkRequest[M] };

/** What only some requests have. */
function addRare(rare: Made, exchange: Exchange, up: Upstream, { ask, name, continued, task }: Errand): void {
  const { traceparent, tracestate, baggage } = exchange.trace;
  if (name !== undefined) rare.name = name;
  if (traceparent !== undefined || tracestate !== undefined || baggage !== undefined) rare.trace = exchange.trace;
  if (task !== undefined) rare.task = task;
  if (continued !== undefined) Object.assign(rare, continuing(continued));
  if (ask === undefined) return;
  // A shared process declares no logging downstream, so no level is set on it (design §5).
  if (exchange.logLevel !== undefined && up.spec.isolation !== 'shared') rare.logLevel = exchange.logLevel;
  if (ask.meta !== undefined) rare.meta = ask.meta;
  if (ask.wait === true) rare.wait = true;
  if (ask.fromSeq !== undefined) rare.fromSeq = ask.fromSeq;
}

/** A state of `''` is one, its absence is none (protocol.md §5.1). */
function continuing({ state, node, incarnation }: StateContent): Partial<LinkRequest> {
  return {
    ...(state === null ? {} : { state }),
    ...(node === null ? {} : { node }),
    ...(incarnation === null ? {} : { incarnation }),
  };
}
