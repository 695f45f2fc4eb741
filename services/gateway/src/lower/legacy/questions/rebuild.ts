// Asks made from the client's own request: the first one, a retry with answers, a join without (exchange.ts `Ask`).
// The params go as they came, byte for byte, so that a seal over them still fits; ours are put behind them. Pure.

import { bytesOf, concat, membersWithout, objectOf } from '@lockkeeper/protocol/json/compose';
import { scan } from '@lockkeeper/protocol/json/scan';
import { readEnvelope } from '../../../era/envelope.ts';
import { locate } from '../../../era/locate.ts';
import type { Ask } from '../../../exchange.ts';
import type { Located } from '../../../http/contract.ts';
import { askFrom } from '../../ask.ts';
import { raw } from '../downlevel/edit.ts';

/** By key, raw JSON. */
export type Answers = ReadonlyMap<string, Uint8Array | string>;

export interface Again {
  readonly state: string | null;
  /** Absent: the round is tried again, or joined (`wait`). */
  readonly answers?: Answers;
  readonly wait?: boolean;
  readonly fromSeq?: number | undefined;
}

/** Params that mean something to the modern hop only. */
const STRIPPED: ReadonlySet<string> = new Set(['inputResponses', 'requestState']);

export function firstAsk(message: Located, speaks: boolean): Ask {
  const ask = askFrom(message, readEnvelope(message));
  return {
    ...ask,
    params: ask.params.some((m) => STRIPPED.has(m.key)) ? ask.params.filter((m) => !STRIPPED.has(m.key)) : ask.params,
    progress: ask.progress && speaks,
  };
}

export function nextAsk(message: Located, again: Again): Ask {
  const own = membersWithout(message.bytes, message.params, (key) => STRIPPED.has(key));
  const state = again.state === null ? '' : `"requestState":${JSON.stringify(again.state)}`;
  const bytes = objectOf([own, state, again.answers === undefined ? '' : responsesOf(again.answers)]);
  const params = scan(bytes).members;
  return {
    // Where `_meta` has its members is another place now.
    ...firstAsk({ ...message, bytes, params, meta: undefined, span: { start: 0, end: bytes.length } }, true),
    bytes,
    params,
    ...(again.wait === true ? { wait: true } : {}),
    ...(again.fromSeq === undefined ? {} : { fromSeq: again.fromSeq }),
  };
}

/** After a round: answers given on the client's behalf, else the round again, else a join. */
export function nextAskTerms(state: string | null, answers: Answers, asks: boolean): Again {
  if (answers.size > 0) return { state, answers };
  return asks ? { state, wait: true } : { state };
}

function responsesOf(answers: Answers): Uint8Array {
  const members = [...answers].map(([key, value]) => concat([`${JSON.stringify(key)}:`, value]));
  return concat(['"inputResponses":', objectOf(members)]);
}

/** The request of a call's record. It was accepted once; what is no request now was not ours. */
export function locateAgain(text: string): Located | null {
  const bytes = bytesOf(text);
  const { members } = scan(bytes);
  const found = locate(bytes, { start: 0, end: bytes.length }, members);
  return found.kind === 'message' && found.message.kind === 'request' ? found.message : null;
}

export function textOfMessage(message: Located): string {
  return new TextDecoder().decode(raw(message.bytes, message.span));
}
