// Which exchange a process asks (design §5 "Baton"): the one whose call runs on it. A question that belongs to nobody is
// refused at once; only `roots/list` right after the start waits a moment for the call that caused the start.

import { copyOf } from '@lockkeeper/protocol/json/bytes';
import { INVALID_PARAMS } from '@lockkeeper/protocol/jsonrpc/codes';
import { MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Connection, Question, Questions } from '../raise/contract.ts';
import type { Settled } from './asked.ts';
import type { Askable } from './contract.ts';
import type { AskTerms } from './parking.ts';

export interface Router {
  readonly questions: Questions;
  attach(connection: Connection, exchange: Askable): void;
  detach(connection: Connection, exchange: Askable): void;
  close(): void;
}

export interface RouterDeps {
  readonly clock: Clock;
  /** How long a `roots/list` of the start is held at all. */
  readonly earlyMs: number;
  /** How long the call may take before it is shown: a quick one is not held up. */
  readonly earlyWindowMs: number;
  /** The answer where nobody gives one. */
  staticRoots(connection: Connection): Settled;
}

interface Early {
  readonly question: Question;
  readonly until: number;
  readonly timer: Timer;
}

const MAX_EARLY = 10_000;
/** What belongs to a start comes within this time. */
const START_MS = 1_000;

export function createRouter(deps: RouterDeps): Router {
  const { clock } = deps;
  const exchanges = new Map<Connection, Set<Askable>>();
  const early = new Map<Connection, Early>();
  /** A call that can be asked has run on them: what nobody's call asks from now on is no part of their start. */
  const served = new WeakSet<Connection>();
  /** When their first call began. */
  const begun = new WeakMap<Connection, number>();
  const asked = new WeakSet<Connection>();

  function hold(connection: Connection, question: Question): void {
    const answer = () => settle(question, deps.staticRoots(connection));
    if (early.has(connection) || early.size >= MAX_EARLY) {
      answer();
      return;
    }
    const timer = clock.setTimer(deps.earlyMs, () => {
      early.delete(connection);
      answer();
    });
    const kept = { ...question, params: copyOf(question.params) };
    early.set(connection, { question: kept, until: clock.now() + deps.earlyMs, timer });
    void connection.closed.then(() => drop(connection));
  }

  function drop(connection: Connection): Early | undefined {
    const held = early.get(connection);
    held?.timer.clear();
    early.delete(connection);
    return held;
  }

  /** The first thing a fresh process asks: it belongs to its start, even where the call was sent behind it at once. */
  function termsOf(connection: Connection, question: Question): AskTerms {
    const first = !asked.has(connection);
    asked.add(connection);
    const age = clock.now() - (begun.get(connection) ?? 0);
    if (question.method !== 'roots/list' || !first || age > START_MS) return { id: question.id };
    const within = { ms: deps.earlyMs, answer: deps.staticRoots(connection) };
    return { id: question.id, windowMs: deps.earlyWindowMs, within };
  }

  return {
    questions: {
      ask(connection, question) {
        const { asker } = question;
        const own = asker === null ? undefined : exchanges.get(connection);
        const terms = termsOf(connection, question);
        for (const exchange of own ?? []) {
          if (exchange.asker === asker) return exchange.ask(question, terms);
        }
        if (question.method === 'roots/list' && !served.has(connection)) return hold(connection, question);
        question.refuse(INVALID_PARAMS, 'No request is running that this belongs to');
      },
      withdraw(connection, id) {
        for (const exchange of exchanges.get(connection) ?? []) if (exchange.withdraw(id)) return;
        if (early.get(connection)?.question.id === id) drop(connection);
      },
      refused(connection, asker, need) {
        for (const exchange of exchanges.get(connection) ?? []) if (exchange.asker === asker) exchange.lacked(need);
      },
      completed(connection, elicitationId) {
        for (const exchange of exchanges.get(connection) ?? []) exchange.completed(elicitationId);
      },
    },
    attach(connection, exchange) {
      if (!begun.has(connection)) begun.set(connection, clock.now());
      const own = exchanges.get(connection) ?? new Set();
      own.add(exchange);
      exchanges.set(connection, own);
      if (MODERN_METHODS.get(exchange.head.method)?.mrtr !== true) return;
      served.add(connection);
      const held = drop(connection);
      if (held === undefined) return;
      const ms = Math.max(0, held.until - clock.now());
      const within = { ms, answer: deps.staticRoots(connection) };
      exchange.ask(held.question, { id: held.question.id, windowMs: deps.earlyWindowMs, within });
    },
    detach(connection, exchange) {
      const own = exchanges.get(connection);
      if (own?.delete(exchange) === true && own.size === 0) exchanges.delete(connection);
    },
    close() {
      for (const connection of [...early.keys()]) drop(connection);
    },
  };
}

export function settle(question: Question, answer: Settled): void {
  if (answer.kind === 'result') question.answer(answer.value);
  else question.refuse(answer.code, answer.message);
}
