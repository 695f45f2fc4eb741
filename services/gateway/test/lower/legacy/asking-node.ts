// The rest of the walk as it behaves when servers ask: exchanges that outlive the stream they began on, numbered
// events, rounds of questions, answers taken once, joins on any replica. Scripts stand in place of tools.

import { objectOf } from '@lockkeeper/protocol/json/compose';
import type { Answer, AnswerFn, AnswerListener, Ask, Exchange } from '../../../src/exchange.ts';
import { text } from './replicas.ts';

export interface Running {
  readonly xid: string;
  readonly exchange: Exchange;
  /** The client's answer. Rejects when the question is withdrawn. */
  ask(key: string, method: string, params?: unknown): Promise<Record<string, unknown>>;
  withdraw(key: string): void;
  progress(value: number): void;
  log(data: string): void;
  event(method: string, params: unknown): void;
  /** input_required without questions; resolves when it is asked for again. */
  pause(): Promise<void>;
}

type Script = (call: Running) => Promise<string>;

interface Question {
  readonly method: string;
  readonly params: unknown;
  readonly round: number;
  readonly answer: (response: Record<string, unknown>) => void;
  readonly withdraw: () => void;
}

interface Kept {
  readonly xid: string;
  readonly person: string;
  readonly open: Map<string, Question>;
  readonly events: { readonly method: string; readonly members: string }[];
  readonly listeners: Set<() => void>;
  round: number;
  paused: (() => void) | null;
  outcome: Answer | null;
}

export interface AskingNode {
  readonly answer: AnswerFn;
  readonly script: (name: string, run: Script) => void;
  /** How often each tool was begun. */
  readonly begun: string[];
  /** Answers as the server got them. */
  readonly got: { readonly key: string; readonly response: Record<string, unknown> }[];
  /** False: nothing says in which round a question was asked. */
  saysRounds: boolean;
  origin: Record<string, unknown>;
}

export function createAskingNode(): AskingNode {
  const scripts = new Map<string, Script>();
  const exchanges = new Map<string, Kept>();
  const node: AskingNode = {
    begun: [],
    got: [],
    saysRounds: true,
    origin: {},
    script: (name, run) => void scripts.set(name, run),
    answer,
  };

  async function answer(exchange: Exchange, ask: Ask, listener: AnswerListener): Promise<Answer> {
    const params = JSON.parse(paramsOf(ask)) as { name: string; requestState?: string; inputResponses?: object };
    const [xid = exchange.xid, seen] = params.requestState?.split('|') ?? [];
    const joins = params.requestState !== undefined || ask.wait === true;
    const known = exchanges.get(xid);
    if (!joins) return join(begin(exchange, params.name), 0, exchange, ask, listener);
    if (known === undefined || known.person !== personOf(exchange)) return refusal('bad-state');
    if (params.inputResponses !== undefined) {
      const responses = Object.entries(params.inputResponses) as [string, Record<string, unknown>][];
      if (!take(known, responses)) return current(known);
      listener.accepted?.();
    } else if (known.paused !== null && ask.wait !== true) {
      const resume = known.paused;
      known.paused = null;
      known.round++;
      resume();
      return join(known, known.round, exchange, ask, listener);
    }
    return join(known, Number(seen ?? 0), exchange, ask, listener);
  }

  function begin(exchange: Exchange, name: string): Kept {
    node.begun.push(name);
    const kept: Kept = {
      ...{ xid: exchange.xid, person: personOf(exchange), open: new Map(), events: [], listeners: new Set() },
      ...{ round: 0, paused: null, outcome: null },
    };
    exchanges.set(exchange.xid, kept);
    const changed = () => {
      for (const listener of [...kept.listeners]) listener();
    };
    const event = (method: string, params: unknown) => {
      kept.events.push({ method, members: JSON.stringify(params).slice(1, -1) });
      changed();
    };
    const run = scripts.get(name)?.({
      ...{ xid: exchange.xid, exchange, event },
      ask: (key, method, params) =>
        new Promise((resolve, reject) => {
          kept.round++;
          kept.open.set(key, {
            ...{ method, params, round: kept.round, answer: resolve },
            withdraw: () => reject(new Error('withdrawn')),
          });
          changed();
        }),
      withdraw(key) {
        const question = kept.open.get(key);
        kept.open.delete(key);
        kept.round++;
        question?.withdraw();
        changed();
      },
      progress: (value) => event('notifications/progress', { progress: value }),
      log: (data) => event('notifications/message', { level: 'info', data }),
      pause: () =>
        new Promise((resolve) => {
          kept.round++;
          kept.paused = resolve;
          changed();
        }),
    });
    run?.then(
      (said) => end(resultOf(said)),
      (error: unknown) => end(resultOf(String(error))),
    );
    function end(outcome: Answer): void {
      kept.outcome = outcome;
      kept.open.clear();
      changed();
    }
    return kept;
  }

  /** False: one of them is not asked (any more). */
  function take(kept: Kept, responses: readonly [string, Record<string, unknown>][]): boolean {
    if (responses.some(([key]) => !kept.open.has(key))) return false;
    for (const [key, response] of responses) {
      const question = kept.open.get(key)!;
      kept.open.delete(key);
      kept.round++;
      node.got.push({ key, response });
      question.answer(response);
    }
    return true;
  }

  function join(kept: Kept, seen: number, exchange: Exchange, ask: Ask, listener: AnswerListener): Promise<Answer> {
    let at = ask.fromSeq ?? 0;
    return new Promise((resolve) => {
      const look = (): void => {
        for (; at < kept.events.length; at++) {
          const { method, members } = kept.events[at]!;
          listener.event(method, text(members), at + 1);
        }
        const asks = kept.open.size > 0 || kept.paused !== null;
        if (kept.outcome !== null || (asks && kept.round !== seen)) settle(current(kept));
      };
      const settle = (how: Answer): void => {
        kept.listeners.delete(look);
        resolve(how);
      };
      kept.listeners.add(look);
      exchange.signal.addEventListener('abort', () => settle(refusal('cancelled')), { once: true });
      look();
    });
  }

  function current(kept: Kept): Answer {
    if (kept.outcome !== null) return kept.outcome;
    const requests = [...kept.open].map(([key, { method, params }]) => [
      key,
      { method, ...(params === undefined ? {} : { params }) },
    ]);
    const asked = Object.fromEntries([...kept.open].map(([key, { round }]) => [key, round]));
    return {
      ...{ kind: 'result', resultType: 'input_required' },
      members: text(
        `${requests.length === 0 ? '' : `"inputRequests":${JSON.stringify(Object.fromEntries(requests))},`}"requestState":"${kept.xid}|${kept.round}"`,
      ),
      origin: { ...node.origin, ...(node.saysRounds ? { asked } : {}) },
    };
  }

  return node;
}

function personOf({ caller, session }: Exchange): string {
  const { subject, client } = caller.principal;
  return JSON.stringify([subject, client, session]);
}

function paramsOf(ask: Ask): string {
  const members = ask.params.map((m) => ask.bytes.subarray(m.keyStart, m.end));
  return new TextDecoder().decode(objectOf(members));
}

function resultOf(said: string): Answer {
  const content = `"content":[{"type":"text","text":${JSON.stringify(said)}}]`;
  return { kind: 'result', resultType: 'complete', members: text(content) };
}

function refusal(reason: 'bad-state' | 'cancelled'): Answer {
  return { kind: 'refusal', refusal: { reason } };
}
