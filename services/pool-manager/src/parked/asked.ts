// One question on its way to a caller, whoever asks it: a legacy server over its pipe, a -32042, a modern server to a
// legacy caller. It is settled exactly once; by whom it is read is not its business.

import type { QuestionMethod } from '@lockkeeper/protocol/mcp/questions';
import type { FormSchema } from './form.ts';

export type Settled =
  /** Raw JSON text of a result object. */
  | { readonly kind: 'result'; readonly value: Uint8Array }
  | { readonly kind: 'error'; readonly code: number; readonly message: string };

export interface Asked {
  readonly method: QuestionMethod;
  /** Raw JSON object as the caller gets it; null: none. */
  readonly params: Uint8Array | null;
  /** Of a form. */
  readonly schema?: FormSchema;
  /** Of a question that sends the user somewhere. */
  readonly url?: string;
  /** The server's own name for it, which only a legacy caller's lowering may need. */
  readonly elicitationId?: string;
  /** A wire request waits for it, so its call goes on with the answer (design §5 "Baton"). */
  readonly live: boolean;
  settle(answer: Settled): void;
  /** The server wants to hear that somebody is still at it. */
  readonly progress: ((count: number) => void) | null;
}

const CANCELLED = Buffer.from('{"action":"cancel"}');

/** The answer in the caller's place (protocol.md §5.5 "timeout"): nobody said no. */
export function unanswered(method: QuestionMethod): Settled {
  switch (method) {
    case 'elicitation/create':
      return { kind: 'result', value: CANCELLED };
    case 'sampling/createMessage':
      return { kind: 'error', code: -1, message: 'The request was not answered' };
    case 'roots/list':
      return { kind: 'error', code: -32603, message: 'The request was not answered' };
  }
}
