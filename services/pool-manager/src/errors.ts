// The pool manager's catalogue (design §8): why an exchange did not end in a result, whose fault that is, and the words
// where nothing better is known. Status and code downstream are the gateway's to choose, by the reason alone; `code`
// counts only for `upstream` and `capability`, which bring their own.

import { INTERNAL_ERROR } from '@lockkeeper/protocol/jsonrpc/codes';
import type { FaultReason } from '@lockkeeper/protocol/link/frames';
import type { FaultHead } from './raise/contract.ts';

export type Blame = 'client' | 'operator' | 'upstream' | 'us';

interface Row {
  readonly blame: Blame;
  readonly retry: 'never' | 'later' | 'elsewhere' | 'new-request';
  readonly words: string;
}

export const CATALOGUE = {
  upstream: { blame: 'upstream', retry: 'never', words: 'the server answered with an error' },
  capability: { blame: 'client', retry: 'new-request', words: 'the client lacks a capability that the server needs' },
  'stale-config': { blame: 'us', retry: 'elsewhere', words: 'this node has another configuration of the server' },
  moved: { blame: 'us', retry: 'elsewhere', words: 'another node serves this caller' },
  draining: { blame: 'us', retry: 'elsewhere', words: 'this node takes nothing new' },
  unavailable: { blame: 'us', retry: 'later', words: 'this node cannot tell whether it may serve this caller' },
  busy: { blame: 'us', retry: 'later', words: 'all processes of this server are busy' },
  'start-failed': { blame: 'upstream', retry: 'later', words: 'the server could not be started' },
  denied: { blame: 'operator', retry: 'never', words: 'the server does not accept Lockkeeper’s credentials' },
  timeout: { blame: 'upstream', retry: 'never', words: 'the server did not answer in time' },
  lost: { blame: 'upstream', retry: 'never', words: 'the server was lost during the call; it may have run in part' },
  cancelled: { blame: 'client', retry: 'never', words: 'the caller cancelled' },
  protocol: { blame: 'upstream', retry: 'never', words: 'the server broke the protocol' },
  'too-large': { blame: 'upstream', retry: 'never', words: 'the answer is larger than the limit' },
  'too-slow': { blame: 'client', retry: 'never', words: 'the client reads too slowly' },
  'unknown-exchange': { blame: 'client', retry: 'new-request', words: 'nothing waits here under this state' },
  refused: { blame: 'client', retry: 'never', words: 'refused' },
  internal: { blame: 'us', retry: 'later', words: 'internal error' },
} as const satisfies Record<FaultReason, Row>;

export function faultOf(reason: FaultReason, more: Partial<FaultHead> = {}): FaultHead {
  return { reason, code: INTERNAL_ERROR, message: CATALOGUE[reason].words, mayHaveRun: false, ...more };
}
