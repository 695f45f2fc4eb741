// What is heard of an exchange while it runs, lowered and passed to the call's own stream: progress that rises, logs at
// the session's level, each numbered event once however often the exchange is joined (design §4 "numbered").

import { objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, membersOf, stringOf } from '@lockkeeper/protocol/json/scan';
import type { AnswerListener } from '../../exchange.ts';
import type { Signal } from '../../leaving.ts';
import { progressGate } from '../events.ts';
import type { LegacyCall } from './contract.ts';
import { lowerEvent } from './downlevel/event.ts';

export interface Hearing {
  readonly listener: AnswerListener;
  /** From where the next join is to go on. */
  lastSeq(): number | undefined;
}

/** `token`: raw text of the client's progress token. `completed`: a legacy server says that a URL's work is done. */
export function createHearing(
  { caller, voice, xid, taken }: LegacyCall,
  token: string | null,
  signal: Signal,
  completed: (serverId: string) => void,
): Hearing {
  const rises = progressGate();
  let last = taken?.fromSeq;

  return {
    lastSeq: () => last,
    listener: {
      event(method, members, seq) {
        if (seq !== undefined) {
          if (last !== undefined && seq <= last) return;
          last = seq;
        }
        if (signal.aborted || voice === null) return;
        if (method === 'notifications/elicitation/complete') {
          const id = idOf(members);
          if (id !== undefined) completed(id);
          return;
        }
        if (method === 'notifications/progress' && token !== null && !rises(members)) return;
        const terms = { revision: caller.revision, token, level: caller.logLevel };
        const notification = lowerEvent(terms, method, members);
        if (notification !== null) voice.event(xid, seq, notification);
      },
    },
  };
}

function idOf(members: Uint8Array): string | undefined {
  const whole = objectOf([members]);
  return stringOf(whole, findMember(membersOf(whole, { start: 0, end: whole.length }), 'elicitationId'));
}
