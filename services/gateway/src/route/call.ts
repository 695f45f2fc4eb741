// The one hop: a resolved request goes through the link and its answer comes back, still modern, with an aggregate's
// names and URIs in it (protocol.md §5.7).

import { concat } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, membersIn, textOf } from '@lockkeeper/protocol/json/scan';
import type { MethodFacts } from '@lockkeeper/protocol/mcp/methods';
import type { Era } from '@lockkeeper/protocol/mcp/revision';
import type { Answer, AnswerListener, Ask, Exchange } from '../exchange.ts';
import type { LinkAnswer } from '../link/contract.ts';
import type { Kind } from '../policy/decide.ts';
import type { StateContent } from '../seal/state.ts';
import { created } from '../tasks/created.ts';
import { declaresTasks, offerOf, undeclared } from '../tasks/offer.ts';
import { rewriteErrorData, rewriteLog, rewriteMeta, rewriteResult } from './aggregate/rewrite.ts';
import { bodyOf, inputResponsesOf } from './body.ts';
import { notComplete } from './catalogue/catalogue.ts';
import type { CallFault, Step, Upstream } from './contract.ts';
import { asked } from './questions/asked.ts';
import { foreignAnswer } from './questions/retry.ts';
import { isMethodNotFound, refused } from './refuse.ts';
import type { Target } from './resolve.ts';
import { faulted, type Room } from './room.ts';
import { linkRequest } from './upstream.ts';

/** What is called, of which server, and what the call goes on with. */
export interface Call {
  readonly up: Upstream;
  readonly era: Era;
  readonly facts: MethodFacts;
  readonly target: Target;
  readonly continued?: StateContent;
}

export async function callUpstream(
  room: Room,
  exchange: Exchange,
  call: Call,
  ask: Ask,
  listener: AnswerListener,
): Promise<Step> {
  const { up, facts, target, continued } = call;
  const inputResponses = facts.mrtr ? inputResponsesOf(ask) : undefined;
  if (inputResponses === null)
    return refused('invalid-params', { message: 'params.inputResponses must be an object.' });
  const foreign = facts.mrtr ? foreignAnswer(exchange, ask) : null;
  if (foreign !== null)
    return refused('invalid-params', { message: `params.inputResponses.${foreign.slice(0, 60)} is no answer.` });
  const xid = continued?.xid ?? exchange.xid;
  const task = offerOf(room, exchange, up.spec, ask);
  const request = linkRequest(exchange, up, xid, {
    method: ask.method,
    body: bodyOf(ask, target.edits, inputResponses),
    safe: facts.safe,
    ask,
    name: facts.nameKey === undefined ? undefined : target.name,
    continued,
    task,
  });
  const server = exchange.route.aggregate ? up.spec.name : null;
  const hears = server === null ? listener : attributed(listener, server);
  const kind = KIND_OF[ask.method] ?? null;
  const ending = room.underWay.begin({ exchange, xid, server: up.spec.name, kind, name: target.name });
  // The link never rejects.
  const answer = await room.deps.link.call(request, hears, exchange.signal);
  ending.over();
  if (answer.kind === 'fault' && ending.revoked) return refused('revoked');
  if (answer.kind === 'fault') return failed(answer.fault, call, ask, server);
  if (answer.head.resultType === 'input_required') return asked(room, exchange, { ...call, xid }, ask, answer);
  if (answer.head.resultType === 'task' && task !== undefined) {
    return created(room, exchange, { up, era: call.era, tool: target.name }, answer);
  }
  if (answer.head.resultType === 'task' && becameTask(exchange, call)) {
    return declaresTasks(exchange) ? refused('unreadable') : undeclared();
  }
  return settled(answer, call, ask, server);
}

/**
 * A retry of a call that became a task in the meantime, from a caller that cannot be told so: it declares less than
 * before (protocol.md §1.10 "Undeclared peer", §2.8 #13), or the record cannot be written now. A legacy server makes no
 * such results, so it has broken nothing.
 */
function becameTask(exchange: Exchange, { era, continued }: Call): boolean {
  return continued !== undefined && era === 'legacy' && exchange.era === 'modern';
}

/** What a completion is about may be of two kinds; it is over in a moment. */
const KIND_OF: Readonly<Record<string, Kind>> = {
  'tools/call': 'tool',
  'prompts/get': 'prompt',
  'resources/read': 'resource',
};

/** Logs of an aggregate name their server. */
function attributed(listener: AnswerListener, server: string): AnswerListener {
  return {
    event: (method, members, seq) =>
      listener.event(method, method === 'notifications/message' ? rewriteLog(members, server) : members, seq),
    accepted: () => listener.accepted?.(),
  };
}

function settled(
  answer: Extract<LinkAnswer, { kind: 'result' }>,
  { up, era, facts, continued }: Call,
  ask: Ask,
  server: string | null,
): Step {
  const { resultType, meta, origin } = answer.head;
  // What was not negotiated is a breach (protocol.md §4.3, GB-057).
  if (resultType !== 'complete') return faulted(notComplete(resultType), up.spec, era);
  const members = server === null ? answer.body : rewriteResult(ask.method, answer.body, server);
  const own = server === null ? meta : rewriteMeta(meta, server);
  const result: Made = {
    kind: 'result',
    resultType,
    server: up.spec.name,
    members: facts.cacheable ? hinted(members, continued !== undefined) : members,
  };
  if (own !== undefined) result.meta = own;
  if (origin !== undefined) result.origin = origin;
  return result;
}

type Result = Extract<Answer, { kind: 'result' }>;
type Made = { -readonly [M in keyof Result]: Result[M] };

function failed(fault: CallFault, { up, era }: Call, ask: Ask, server: string | null): Step {
  // Of a server that declares completions and knows none, or was tried: no values (protocol.md §5.2 "completion").
  if (ask.method === 'completion/complete' && isMethodNotFound(fault)) {
    return server === null ? refused('unknown-method') : NO_VALUES;
  }
  const data = server === null ? fault.data : rewriteErrorData(fault.data, server);
  return faulted(data === undefined ? fault : { ...fault, data }, up.spec, era);
}

export const NO_VALUES: Answer = {
  kind: 'result',
  resultType: 'complete',
  members: new TextEncoder().encode('"completion":{"values":[]}'),
};

/**
 * Caching fields of a read: always there and valid, and private, since who may read is decided per person and a
 * client's cache must not be where that ends (protocol.md §2.10, GB-055, GB-056). A retry's is not kept at all: its
 * answer rests on what a person said (protocol.md §2.8 #11).
 */
function hinted(members: Uint8Array, retry: boolean): Uint8Array {
  const found = membersIn(members);
  const ttl = findMember(found, 'ttlMs');
  const kept = found.filter((m) => m.key !== 'ttlMs' && m.key !== 'cacheScope');
  const parts: (Uint8Array | string)[] = kept.flatMap((m) => [members.subarray(m.keyStart, m.end), ',']);
  return concat([...parts, `"ttlMs":${retry ? '0' : validTtl(members, ttl)},"cacheScope":"private"`]);
}

function validTtl(bytes: Uint8Array, ttl: Member | undefined): string {
  const text = ttl?.kind === 'number' ? textOf(bytes, ttl) : '0';
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? String(value) : '0';
}
