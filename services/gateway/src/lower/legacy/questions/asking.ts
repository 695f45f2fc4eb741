// The questions of one call, as wire requests on its own stream and nowhere else (protocol.md §3.2 "One stream per
// message", §5.3 "input_required", design §4 amendment 5): each round is held against what has been asked. A new key is
// a wire request, a key that vanished unanswered is withdrawn. The record of a wire request is stored before it is sent.

import { concat } from '@lockkeeper/protocol/json/compose';
import type { Origin } from '@lockkeeper/protocol/link/frames';
import type { Clock } from '@lockkeeper/state/clock';
import type { Store } from '@lockkeeper/state/store';
import type { Belongings } from '../../../session/belongings.ts';
import { openedKey, wireKey } from '../../../session/keys.ts';
import type { Session } from '../../../session/record.ts';
import { relatedMeta } from '../../../tasks/legacy-text.ts';
import { nameOf } from '../../ask.ts';
import type { LegacyCall, Voice } from '../contract.ts';
import { inside, raw } from '../downlevel/edit.ts';
import { type InputRequest, readRound, textParam } from '../downlevel/input-request.ts';
import { lowerQuestion } from '../downlevel/question.ts';
import { createPace, type Pace } from './pace.ts';
import { type Again, nextAskTerms } from './rebuild.ts';
import type { AskedQuestion, KeptCall } from './record.ts';
import type { WireIds } from './wire-id.ts';

export type Step =
  | { readonly kind: 'again'; readonly again: Again; readonly afterMs: number }
  /** Words for what the client lacks: the call cannot go on. */
  | { readonly kind: 'missing'; readonly what: string }
  /** The server asks and asks. */
  | { readonly kind: 'endless' }
  /** A legacy client knows an error for this. */
  | { readonly kind: 'response'; readonly response: Uint8Array }
  /** Another replica lowers this call now. */
  | { readonly kind: 'left' };

export interface Asking {
  round(members: Uint8Array, origin: Origin | undefined): Promise<Step>;
  /** A legacy server says that what was to be done at a URL is done. */
  completed(serverId: string): Promise<void>;
  /** The call is over: what still waits for an answer is withdrawn. */
  settle(answered: boolean): Promise<void>;
}

export interface AskingDeps {
  readonly store: Store;
  readonly belongings: Belongings;
  readonly clock: Clock;
  readonly wireIds: WireIds;
}

/** What the store keeps of a wire request; taken by the first answer. */
export interface WireRecord {
  readonly xid: string;
  readonly key: string;
  readonly method: string;
  /** url mode: where it is noted that the user agreed. */
  readonly opened?: string;
}

interface Fresh {
  readonly asked: AskedQuestion;
  readonly request: InputRequest;
  readonly params: Uint8Array | null;
}

export interface AskingTerms {
  readonly call: LegacyCall;
  readonly session: Session;
  readonly voice: Voice;
  readonly kept: KeptCall;
}

export function createAsking(deps: AskingDeps, terms: AskingTerms): Asking {
  const { store, belongings, wireIds } = deps;
  const { call, session, voice, kept } = terms;
  const { tenant } = session.record;
  const pace: Pace = createPace(deps.clock);
  const hearer = {
    revision: call.caller.revision,
    capabilities: call.caller.capabilities,
    aggregate: call.ticket.route.aggregate,
  };

  /** The state of the last round that left no doubt. */
  let joinedFrom: string | null = null;

  async function round(members: Uint8Array, origin: Origin | undefined): Promise<Step> {
    const { state, requests } = readRound(members);
    const asked: Record<string, AskedQuestion> = { ...kept.record.asked };
    const current = new Set(requests.map((r) => r.key));
    const urls = new Set(requests.map((r) => wireIds.mark(call.xid, textParam(r, 'url') ?? '')));
    const proceeds = ({ url }: AskedQuestion) => url !== undefined && !urls.has(url);
    for (const [key, question] of Object.entries(asked)) {
      if (current.has(key)) continue;
      await close(question, proceeds(question));
      delete asked[key];
    }
    const fresh: Fresh[] = [];
    let doubtful = false;
    const answers = new Map<string, string>();
    let polls = false;
    for (const request of requests) {
      const known = asked[request.key];
      const said = origin?.asked?.[request.key];
      const open = known === undefined ? 'no' : await stillOpen(known, request, said);
      doubtful ||= open === 'perhaps';
      if (open !== 'no') continue;
      const generation = said ?? (known?.generation ?? 0) + 1;
      const repeat = known?.generation === generation ? known.repeat + 1 : 0;
      if (known !== undefined) await close(known, proceeds(known));
      const lowered = lowerQuestion(hearer, request);
      if (lowered.kind === 'missing') return lowered;
      if (lowered.kind === 'answer') {
        answers.set(request.key, lowered.response);
        continue;
      }
      const question = questionOf(request, { generation, repeat }, lowered.url, origin);
      asked[request.key] = question;
      if (question.url !== undefined && (await wasOpened(question.url))) {
        answers.set(request.key, '{"action":"accept"}');
        polls = true;
      } else fresh.push({ asked: question, request, params: lowered.params });
    }
    if (!(await kept.save({ state: state ?? kept.record.state, asked }))) return { kind: 'left' };
    for (const one of fresh) await send(one);
    const news = fresh.length > 0 || answers.size > 0;
    const brought = requests.length === 0 ? 'empty' : polls ? 'poll' : news ? 'news' : doubtful ? 'doubt' : 'quiet';
    const afterMs = pace.next(brought);
    if (afterMs === null) return { kind: 'endless' };
    // Joined from the round before, so that the same round is given again and can be judged once more.
    if (brought === 'doubt') return { kind: 'again', again: { state: joinedFrom, wait: true }, afterMs };
    joinedFrom = kept.record.state;
    return { kind: 'again', again: nextAskTerms(kept.record.state, answers, requests.length > 0), afterMs };
  }

  function questionOf(
    request: InputRequest,
    turn: Pick<AskedQuestion, 'generation' | 'repeat'>,
    url: string | undefined,
    origin: Origin | undefined,
  ): AskedQuestion {
    const wireId = wireIds.mint(session.hash, call.xid, `${turn.generation}.${turn.repeat}`, request.key);
    const serverId = origin?.elicitationIds?.[request.key];
    const mark = url === undefined ? undefined : wireIds.mark(call.xid, url);
    return {
      wireId,
      ...turn,
      digest: digestOf(request),
      // One id for one URL, however often and under whatever key it is asked for.
      ...(mark === undefined ? {} : { url: mark, elicitationId: wireIds.elicitation(mark) }),
      ...(serverId === undefined ? {} : { serverId }),
    };
  }

  const digestOf = (request: InputRequest): string =>
    wireIds.mark(call.xid, Buffer.from(raw(request.bytes, request.whole)).toString('latin1'));

  /**
   * The same question is the same asking, until its answer has had time to arrive (`perhaps`): then the answer was none
   * that the server could take, and it is asked once more. `said`: in which round the node says it was asked.
   */
  async function stillOpen(
    known: AskedQuestion,
    request: InputRequest,
    said: number | undefined,
  ): Promise<'yes' | 'perhaps' | 'no'> {
    if (said === undefined ? known.digest !== digestOf(request) : known.generation !== said) return 'no';
    if ((await store.get(wireKey(tenant, session.id, known.wireId))) !== null) return 'yes';
    return pace.answerIsOld(known.wireId) ? 'no' : 'perhaps';
  }

  async function send({ asked, request, params }: Fresh): Promise<void> {
    const record: WireRecord = {
      ...{ xid: call.xid, key: request.key, method: request.method },
      ...(asked.url === undefined ? {} : { opened: openedKey(tenant, session.id, asked.url) }),
    };
    await belongings.set(session, wireKey(tenant, session.id, asked.wireId), JSON.stringify(record));
    const id = asked.elicitationId === undefined ? '' : `,"elicitationId":${JSON.stringify(asked.elicitationId)}`;
    const mark = relatedTask(call);
    const own = params === null ? new Uint8Array(0) : inside(params);
    const meta = mark === '' ? '' : `${own.length + id.length > 0 ? ',' : ''}"_meta":{${mark}}`;
    const object = params === null && mark === '' ? '' : concat([',"params":{', own, id, meta, '}']);
    await voice.say(
      concat([`{"jsonrpc":"2.0","id":"${asked.wireId}","method":${JSON.stringify(request.method)}`, object, '}']),
      `q.${asked.wireId}`,
    );
  }

  const wasOpened = async (mark: string): Promise<boolean> =>
    (await store.get(openedKey(tenant, session.id, mark))) !== null;

  /** Unanswered: the client is told to forget it. Else, if its URL is no longer asked for: what was to be done is done. */
  async function close(question: AskedQuestion, proceeds: boolean): Promise<void> {
    const key = wireKey(tenant, session.id, question.wireId);
    const unanswered = (await store.take(key)) !== null;
    await belongings.remove(session, key);
    if (unanswered) {
      const params = `{"requestId":"${question.wireId}","reason":"The server no longer asks this."}`;
      await voice.say(notice('notifications/cancelled', params), `c.${question.wireId}`);
    } else if (proceeds && question.url !== undefined && (await wasOpened(question.url))) await complete(question);
  }

  async function complete({ elicitationId }: AskedQuestion): Promise<void> {
    if (elicitationId === undefined) return;
    const params = JSON.stringify({ elicitationId });
    await voice.say(notice('notifications/elicitation/complete', params), `d.${elicitationId}`);
  }

  return {
    round,
    async completed(serverId) {
      const found = Object.values(kept.record.asked).find((q) => q.serverId === serverId);
      if (found !== undefined) await complete(found);
    },
    async settle(answered) {
      for (const question of Object.values(kept.record.asked)) {
        await close(question, answered);
        if (question.url !== undefined) await belongings.remove(session, openedKey(tenant, session.id, question.url));
      }
    },
  };
}

function notice(method: string, params: string): Uint8Array {
  return new TextEncoder().encode(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`);
}

/** What is asked on the way of a tasks/result says of which task (2511/tasks). */
function relatedTask({ message }: LegacyCall): string {
  const taskId = message.method === 'tasks/result' ? nameOf(message, 'tasks/result') : undefined;
  return taskId === undefined ? '' : relatedMeta(taskId);
}
