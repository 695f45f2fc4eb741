// How calls ended, by what was done, and what may never be: an answer that is not the caller's own, one without a cause,
// none at all. What may never be is kept with its words, up to a number.

import { Crossed, type Reply, Unanswered } from './wire.ts';

/** Codes and statuses as they are on the wire (ops/errors.md). */
const CODES: Readonly<Record<number, string>> = {
  10001: 'unavailable',
  10002: 'busy',
  10003: 'start-failed',
  10004: 'timeout',
  10005: 'lost',
  10006: 'result-too-large',
  10007: 'too-slow',
  10008: 'cancelled',
  10009: 'too-many',
  10014: 'cannot-ask',
};

/** What may befall any call where servers crash and places are few. */
const USUAL = ['ok', 'left', 'busy', 'lost', 'timeout', 'start-failed', 'unavailable', 'no-session'];

export interface Tally {
  /** `also`: causes that this kind of call may have beside the usual ones. */
  count(act: string, ended: string, also?: readonly string[], words?: string): void;
  failed(act: string, error: unknown): void;
  readonly calls: number;
  readonly wrong: readonly string[];
  /** Every way in which something ended. */
  readonly endings: readonly string[];
  share(act: string, ended: string): number;
  table(): string;
}

const MOST_KEPT = 40;

export function createTally(): Tally {
  const acts = new Map<string, Map<string, number>>();
  const wrong: string[] = [];
  let calls = 0;
  const add = (act: string, ended: string): void => {
    calls += 1;
    const row = acts.get(act) ?? new Map<string, number>();
    acts.set(act, row.set(ended, (row.get(ended) ?? 0) + 1));
  };
  const complain = (words: string): void => {
    if (wrong.length < MOST_KEPT) wrong.push(words);
  };
  return {
    count(act, ended, also = [], words = '') {
      add(act, ended);
      if (!USUAL.includes(ended) && !also.includes(ended)) complain(`${act}: ${ended} ${words.slice(0, 600)}`);
    },
    failed(act, error) {
      const kind = error instanceof Crossed ? 'CROSSED' : error instanceof Unanswered ? 'unanswered' : 'broken';
      add(act, kind);
      complain(`${act}: ${kind} ${error instanceof Error ? `${error.message} ${causes(error)}` : String(error)}`);
    },
    get calls() {
      return calls;
    },
    wrong,
    get endings() {
      return [...new Set([...acts.values()].flatMap((row) => [...row.keys()]))];
    },
    share(act, ended) {
      const row = acts.get(act) ?? new Map<string, number>();
      const all = [...row.values()].reduce((sum, n) => sum + n, 0);
      return all === 0 ? 0 : (row.get(ended) ?? 0) / all;
    },
    table() {
      const lines = [...acts]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([act, row]) => {
          const cells = [...row].sort(([, a], [, b]) => b - a).map(([ended, n]) => `${ended} ${n}`);
          return `${act.padEnd(18)} ${cells.join(', ')}`;
        });
      return lines.join('\n');
    },
  };
}

function causes(error: Error): string {
  const { cause } = error;
  return cause instanceof Error ? `(${cause.message} ${causes(cause)})` : '';
}

interface Body {
  readonly result?: {
    readonly resultType?: string;
    readonly isError?: boolean;
    readonly _meta?: Readonly<Record<string, unknown>>;
    readonly content?: readonly { readonly text?: string }[];
  };
  readonly error?: { readonly code: number; readonly message: string };
}

/** `ok`, `asks`, or the cause. */
export function endOf({ left, status, message }: Reply): string {
  if (left) return 'left';
  if (status === 404 && (message === null || bodyOf(message).error?.code === -32600)) return 'no-session';
  if (message === null) return status === 202 || status === 200 || status === 204 ? 'ok' : `http ${status}`;
  const { result, error } = bodyOf(message);
  if (error !== undefined) return CODES[error.code] ?? `code ${error.code}`;
  if (result?.resultType === 'input_required') return 'asks';
  if (result?.isError === true) return String(result._meta?.['lockkeeper/reason'] ?? 'error without a cause');
  return result === undefined ? 'no result' : 'ok';
}

export function bodyOf(message: unknown): Body {
  return message as Body;
}

export function textOf({ message }: Reply): string {
  return message === null ? '' : (bodyOf(message).result?.content?.[0]?.text ?? '');
}
