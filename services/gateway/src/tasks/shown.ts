// A DetailedTask as the client may see it (protocol.md §1.10): names and URIs of an aggregate, questions as they are
// asked everywhere, and what went wrong at the node said as tools/call would have said it (design §8).

import { applyEdits, concat, type Edit, objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, membersOf, parseSpan, stringOf } from '@lockkeeper/protocol/json/scan';
import type { TaskRecord } from '@lockkeeper/state/tasks/task-store';
import type { Exchange } from '../exchange.ts';
import { codeOf, refusesAsResult, toolErrorMembers, wordsOf } from '../http/refuse.ts';
import { rewriteResult } from '../route/aggregate/rewrite.ts';
import type { CallFault, Upstream } from '../route/contract.ts';
import { judgeQuestions } from '../route/questions/judge.ts';
import { refusalOf } from '../route/refuse.ts';

export type Shown =
  | { readonly kind: 'shown'; readonly members: Uint8Array; readonly status: string }
  | { readonly kind: 'breach'; readonly why: string };

const CALL = { method: 'tools/call', bytes: new Uint8Array(0), params: [], progress: false } as const;

export function shownTask(exchange: Exchange, up: Upstream, record: TaskRecord, members: Uint8Array): Shown {
  const whole = objectOf([members]);
  const found = membersOf(whole, { start: 0, end: whole.length });
  const status = stringOf(whole, findMember(found, 'status')) ?? '';
  const fault = findMember(found, 'lk/fault');
  if (fault !== undefined) return failed(exchange, up, whole, found, parseSpan(whole, fault) as CallFault);
  const result = findMember(found, 'result');
  const { aggregate } = exchange.route;
  if (aggregate && result?.kind === 'object') {
    const inner = whole.subarray(result.start + 1, result.end - 1);
    const text = concat(['{', rewriteResult('tools/call', inner, up.spec.name), '}']);
    const parts: (Uint8Array | string)[] = [];
    for (const m of found) {
      if (parts.length > 0) parts.push(',');
      if (m.key === 'result') parts.push('"result":', text);
      else parts.push(whole.subarray(m.keyStart, m.end));
    }
    return { kind: 'shown', members: concat(parts), status };
  }
  if (findMember(found, 'inputRequests') === undefined) return { kind: 'shown', members, status };
  const judged = judgeQuestions(members, {
    declared: record.capabilities,
    // The node names a legacy server itself.
    asker: record.era === 'modern' ? up.spec.name : null,
    alone: !aggregate,
  });
  return judged.kind === 'breach' ? judged : { kind: 'shown', members: judged.members, status };
}

/** A crash or a loss is a result with isError; only an error of JSON-RPC makes a task `failed`. */
function failed(
  exchange: Exchange,
  up: Upstream,
  whole: Uint8Array,
  found: readonly Member[],
  fault: CallFault,
): Shown {
  const refusal = refusalOf(fault, up.spec, null, exchange, CALL);
  const asResult = refusesAsResult('tools/call', refusal);
  const status = asResult ? 'completed' : 'failed';
  const edits: Edit[] = [];
  for (const m of found) {
    if (m.key === 'status') edits.push(value(m, `"${status}"`));
    else if (m.key === 'statusMessage') edits.push(value(m, JSON.stringify(wordsOf(refusal))));
    else if (m.key === 'lk/fault')
      edits.push({ start: m.keyStart, end: m.end, text: asResult ? resultText() : errorText() });
  }
  const edited = applyEdits(whole, edits);
  return { kind: 'shown', members: edited.subarray(1, edited.length - 1), status };

  function resultText(): string {
    const { members, meta } = toolErrorMembers(refusal, exchange.xid);
    return `"result":{"_meta":{${meta}},${Buffer.from(members).toString()}}`;
  }

  function errorText(): string {
    const data = refusal.data === undefined ? '' : `,"data":${refusal.data}`;
    return `"error":{"code":${codeOf(refusal, 'modern')},"message":${JSON.stringify(wordsOf(refusal))}${data}}`;
  }
}

function value(m: Member, text: string): Edit {
  return { start: m.start, end: m.end, text };
}
