// The open questions of one task: their keys are fresh for the task's whole life and never used twice (protocol.md
// §1.10 "Input keys"), whatever the exchange below calls them in its rounds. Pure but for its own memory.

import { copyOf } from '@lockkeeper/protocol/json/bytes';
import { concat, objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, membersOf } from '@lockkeeper/protocol/json/scan';
import { answersOf } from '../raise/answers.ts';

interface Open {
  readonly key: string;
  /** The round in which it was first asked: one key asked anew is another question (link `Origin.asked`). */
  readonly asked: number;
  readonly request: Uint8Array;
}

export class TaskInputs {
  /** Fresh key → the question. */
  private readonly open = new Map<string, Open>();
  private count = 0;

  get size(): number {
    return this.open.size;
  }

  /** `asked` is undefined where nobody holds the questions: then every round asks anew (a modern server). */
  replace(members: Uint8Array, asked: Readonly<Record<string, number>> | undefined): void {
    const whole = objectOf([members]);
    const requests = findMember(membersOf(whole, { start: 0, end: whole.length }), 'inputRequests');
    const before = [...this.open];
    this.open.clear();
    if (requests?.kind !== 'object') return;
    for (const m of membersOf(whole, requests)) {
      const round = asked?.[m.key] ?? 0;
      const same = asked && before.find(([, one]) => one.key === m.key && one.asked === round);
      const fresh = same ? same[0] : `input-${++this.count}`;
      this.open.set(fresh, { key: m.key, asked: round, request: copyOf(whole.subarray(m.start, m.end)) });
    }
  }

  clear(): void {
    this.open.clear();
  }

  /** `"inputRequests":{…}` under fresh keys. */
  members(): Uint8Array {
    const parts: (Uint8Array | string)[] = ['"inputRequests":{'];
    for (const [fresh, { request }] of this.open) {
      parts.push(`${parts.length === 1 ? '' : ','}${JSON.stringify(fresh)}:`, request);
    }
    parts.push('}');
    return concat(parts);
  }

  /** Takes the answered ones out of what is open. Unknown and answered keys are ignored (ext-tasks). */
  take(params: Uint8Array): Map<string, Uint8Array> {
    const taken = new Map<string, Uint8Array>();
    for (const { key, value, object } of answersOf(params) ?? []) {
      const one = object ? this.open.get(key) : undefined;
      if (one === undefined) continue;
      this.open.delete(key);
      taken.set(one.key, copyOf(value));
    }
    return taken;
  }
}

/** `"inputResponses":{…}` under the keys of the exchange below. */
export function responsesText(answers: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const parts: (Uint8Array | string)[] = ['"inputResponses":{'];
  for (const [key, value] of answers) parts.push(`${parts.length === 1 ? '' : ','}${JSON.stringify(key)}:`, value);
  parts.push('}');
  return concat(parts);
}
