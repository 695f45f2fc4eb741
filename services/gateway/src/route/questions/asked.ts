// What becomes of an `input_required` of the node on its way to the caller: judged, its state sealed to the person, the
// program and the request (protocol.md §2.8, design §4 amendment 3). What cannot be handed on is refused, and the node
// is told, so that nothing waits for an answer that cannot come.

import { concat } from '@lockkeeper/protocol/json/compose';
import type { MethodFacts } from '@lockkeeper/protocol/mcp/methods';
import type { Era } from '@lockkeeper/protocol/mcp/revision';
import type { Answer, Ask, Exchange } from '../../exchange.ts';
import type { LinkAnswer } from '../../link/contract.ts';
import { sealState } from '../../seal/state.ts';
import type { Step, Upstream } from '../contract.ts';
import { refused } from '../refuse.ts';
import type { Target } from '../resolve.ts';
import { faulted, type Room } from '../room.ts';
import { bindingOf, bound, sealTtlMs } from './binding.ts';
import { judgeQuestions } from './judge.ts';

type Asked = Extract<LinkAnswer, { kind: 'result' }>;

export interface Asker {
  readonly up: Upstream;
  readonly era: Era;
  readonly facts: MethodFacts;
  readonly target: Target;
  /** Of the exchange, which a retry goes on with. */
  readonly xid: string;
}

export function asked(room: Room, exchange: Exchange, asker: Asker, ask: Ask, answer: Asked): Step {
  const { up, era, facts, xid } = asker;
  if (!facts.mrtr) return breach(`a result of type "input_required" is not possible here`);
  const judged = judgeQuestions(answer.body, {
    declared: up.capabilities,
    asker: era === 'modern' ? up.spec.name : null,
    alone: !exchange.route.aggregate,
  });
  if (judged.kind === 'breach') return breach(judged.why);
  if (!judged.asks && answer.head.state === undefined) return breach('input_required without questions and state');
  if (!bound(exchange)) {
    drop();
    return refused('no-client');
  }
  const sealed = sealState(
    room.deps.ring,
    bindingOf(exchange, ask),
    contentOf(exchange, asker, answer),
    sealTtlMs(exchange),
  );
  if (sealed === null) return breach('the state that it leaves with the caller is too large');
  const { head } = answer;
  const comma = judged.members.length === 0 ? '' : ',';
  const result: Answer = {
    kind: 'result',
    resultType: 'input_required',
    server: up.spec.name,
    members: concat([judged.members, `${comma}"requestState":${JSON.stringify(sealed)}`]),
    ...(head.meta === undefined ? {} : { meta: head.meta }),
    ...(head.origin === undefined ? {} : { origin: head.origin }),
  };
  return result;

  function breach(message: string): Step {
    drop();
    return faulted({ reason: 'protocol', code: -32603, message, mayHaveRun: true }, up.spec, era);
  }

  function drop(): void {
    if (!held(exchange, era)) return;
    const { principal } = exchange.caller;
    room.deps.link.cancel?.(exchange.route.tenant, up.owner, xid, principal, exchange.session);
  }
}

/** A node waits with a call in hand. Between modern peers nobody waits: the state is the server's own (§5.1). */
function held(exchange: Exchange, era: Era): boolean {
  return era === 'legacy' || exchange.era === 'legacy';
}

function contentOf(exchange: Exchange, { up, era, target, xid }: Asker, { head, node }: Asked) {
  return {
    xid,
    server: up.spec.name,
    digest: up.spec.digest,
    name: target.name,
    era,
    // The state of a modern server is its own: any node may go on, but the process that knows it may be this node's.
    node: node?.id ?? null,
    incarnation: held(exchange, era) ? (node?.incarnation ?? null) : null,
    state: head.state ?? null,
  };
}
