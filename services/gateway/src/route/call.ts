// The one hop: a resolved request goes through the link and its answer comes back, still modern, with an aggregate's
// names and URIs in it (protocol.md §5.7).

import { concat, objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, membersOf, textOf } from '@lockkeeper/protocol/json/scan';
import type { MethodFacts } from '@lockkeeper/protocol/mcp/methods';
import type { Answer, AnswerListener, Ask, Exchange } from '../exchange.ts';
import type { LinkAnswer } from '../link/contract.ts';
import { rewriteErrorData, rewriteLog, rewriteMeta, rewriteResult } from './aggregate/rewrite.ts';
import { bodyOf, inputResponsesOf } from './body.ts';
import { notComplete } from './catalogue/catalogue.ts';
import type { ServerProfile } from './catalogue/profile.ts';
import type { CallFault, Step, Upstream } from './contract.ts';
import { isMethodNotFound, refused } from './refuse.ts';
import type { Target } from './resolve.ts';
import { faulted, type Room } from './room.ts';
import { linkRequest } from './upstream.ts';

export async function callUpstream(
  room: Room,
  exchange: Exchange,
  up: Upstream,
  profile: ServerProfile,
  facts: MethodFacts,
  target: Target,
  ask: Ask,
  listener: AnswerListener,
): Promise<Step> {
  const inputResponses = facts.mrtr ? inputResponsesOf(ask) : undefined;
  if (inputResponses === null)
    return refused('invalid-params', { message: 'params.inputResponses must be an object.' });
  const request = linkRequest(exchange, up, exchange.xid, {
    method: ask.method,
    body: bodyOf(ask, target.edits, inputResponses),
    safe: facts.safe,
    ask,
    ...(facts.nameKey === undefined ? {} : { name: target.name }),
  });
  const server = exchange.route.aggregate ? up.spec.name : null;
  const hears = server === null ? listener : attributed(listener, server);
  const answer = await room.deps.link.call(request, hears, exchange.signal);
  return settled(answer, up, profile, facts, ask, server);
}

/** Logs of an aggregate name their server. */
function attributed(listener: AnswerListener, server: string): AnswerListener {
  return {
    event: (method, members, seq) =>
      listener.event(method, method === 'notifications/message' ? rewriteLog(members, server) : members, seq),
    accepted: () => listener.accepted?.(),
  };
}

function settled(
  answer: LinkAnswer,
  up: Upstream,
  profile: ServerProfile,
  facts: MethodFacts,
  ask: Ask,
  server: string | null,
): Step {
  if (answer.kind === 'fault') return failed(answer.fault, up, profile, ask, server);
  const { resultType, meta, origin } = answer.head;
  // No question is declared possible yet, and no task: either is a breach (protocol.md §4.3, GB-057).
  if (resultType !== 'complete') return faulted(notComplete(resultType), up.spec, profile.era);
  const members = server === null ? answer.body : rewriteResult(ask.method, answer.body, server);
  const own = server === null ? meta : rewriteMeta(meta, server);
  const result: Answer = {
    kind: 'result',
    resultType,
    server: up.spec.name,
    members: facts.cacheable ? hinted(members) : members,
    ...(own === undefined ? {} : { meta: own }),
    ...(origin === undefined ? {} : { origin }),
  };
  return result;
}

function failed(fault: CallFault, up: Upstream, profile: ServerProfile, ask: Ask, server: string | null): Step {
  // Of a server that declares completions and knows none, or was tried: no values (protocol.md §5.2 "completion").
  if (ask.method === 'completion/complete' && isMethodNotFound(fault)) {
    return server === null ? refused('unknown-method') : NO_VALUES;
  }
  const data = server === null ? fault.data : rewriteErrorData(fault.data, server);
  return faulted(data === undefined ? fault : { ...fault, data }, up.spec, profile.era);
}

const NO_VALUES: Answer = {
  kind: 'result',
  resultType: 'complete',
  members: new TextEncoder().encode('"completion":{"values":[]}'),
};

/**
 * Caching fields of a read: always there and valid, and private, since who may read is decided per person and a
 * client's cache must not be where that ends (protocol.md §2.10, GB-055, GB-056).
 */
function hinted(members: Uint8Array): Uint8Array {
  const whole = objectOf([members]);
  const found = membersOf(whole, { start: 0, end: whole.length });
  const ttl = findMember(found, 'ttlMs');
  const kept = found.filter((m) => m.key !== 'ttlMs' && m.key !== 'cacheScope');
  const parts: (Uint8Array | string)[] = kept.flatMap((m) => [whole.subarray(m.keyStart, m.end), ',']);
  return concat([...parts, `"ttlMs":${validTtl(whole, ttl)},"cacheScope":"private"`]);
}

function validTtl(bytes: Uint8Array, ttl: Member | undefined): string {
  const text = ttl?.kind === 'number' ? textOf(bytes, ttl) : '0';
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? String(value) : '0';
}
