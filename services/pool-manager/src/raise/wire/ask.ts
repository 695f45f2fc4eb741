// One question of ours to a server, with its own deadline, as a promise that never rejects: probe, introduction and
// nothing on the request path.

import type { Member } from '@lockkeeper/protocol/json/scan';
import type { Clock } from '@lockkeeper/state/clock';
import type { ExitReason, RequestFailure } from '../../child/contract.ts';
import type { Wire } from './wire.ts';

export type Reply =
  | {
      readonly kind: 'answer';
      readonly line: Uint8Array;
      readonly result: Member | undefined;
      readonly members: readonly Member[];
      readonly error: Member | undefined;
    }
  | { readonly kind: 'silent' }
  | { readonly kind: 'spoiled'; readonly words: string }
  | { readonly kind: 'ended'; readonly exit: ExitReason }
  | { readonly kind: 'failed'; readonly failure: RequestFailure };

/** A late answer is dropped; nothing is cancelled upstream. */
export function ask(
  wire: Wire,
  method: string,
  meta: (id: number) => string,
  params: Uint8Array,
  deadlineMs: number,
  clock: Clock,
): Promise<Reply> {
  return new Promise((resolve) => {
    let id = 0;
    const timer = clock.setTimer(deadlineMs, () => {
      wire.abandon(id, null);
      resolve({ kind: 'silent' });
    });
    const settle = (reply: Reply) => {
      timer.clear();
      resolve(reply);
    };
    id = wire.request(method, meta, params, {
      answered: (line, r) =>
        settle({ kind: 'answer', line, result: r.result, members: r.resultMembers, error: r.error }),
      spoiled: (_kind, words) => settle({ kind: 'spoiled', words }),
      lost: (exit) => settle({ kind: 'ended', exit }),
      failed: (failure) => settle({ kind: 'failed', failure }),
    });
    if (id !== 0) return;
    // It takes nothing, so it has ended or never ran; why comes with its exit, a moment later (GB-019).
    void wire.closed.then((exit) => settle({ kind: 'ended', exit }));
  });
}
