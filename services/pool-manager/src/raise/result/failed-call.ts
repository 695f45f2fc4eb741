// A request without an answer as its caller is told of it. Names the server and never relays what it said: a 401 would send
// the client to sign in somewhere else (protocol.md Part 6 #32).

import type { RequestFailure } from '../../child/contract.ts';
import { fault, type Outcome } from './outcome.ts';

export function failedCall(server: string, failure: RequestFailure): Outcome {
  const { kind, words, mayHaveRun, retryAfterMs, status = 0 } = failure;
  const told = `server "${server}": ${words}`;
  switch (kind) {
    case 'unreachable':
      return fault('start-failed', `server "${server}" could not be reached: ${words}`, { mayHaveRun });
    case 'denied':
      return fault('denied', told, { mayHaveRun });
    case 'busy':
      return fault('busy', told, { mayHaveRun, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
    case 'lost':
      // It was there, and refused by HTTP alone: sent once more it would be refused again, or done twice (protocol.md §5.0 I7).
      if (status >= 400 && status < 500) return fault('protocol', words, { mayHaveRun });
      return fault('lost', told, { mayHaveRun });
    case 'session':
      return fault('lost', told, { mayHaveRun });
    case 'protocol':
    case 'too-large':
      return fault(kind, words, { mayHaveRun });
  }
}
