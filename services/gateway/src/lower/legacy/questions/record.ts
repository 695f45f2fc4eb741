// A call as the store keeps it, so that its questions can be answered and its lowering taken over on any replica
// (design §4 "Legacy streams"): the client's own request, the seal of the last round, what has been asked. Written when
// its stream begins or at its first question; a call that does neither never meets the store. Never holds an answer.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Store } from '@lockkeeper/state/store';
import type { Located } from '../../../http/contract.ts';
import { type Belongings, RENEW_EVERY_MS } from '../../../session/belongings.ts';
import { callKey, streamKey, streamLogKey, wireKey } from '../../../session/keys.ts';
import type { Session } from '../../../session/record.ts';
import { textOfMessage } from './rebuild.ts';

/** One question under its key, as it was asked last. */
export interface AskedQuestion {
  readonly wireId: string;
  /** Which asking of this key it is, and how often the same was asked again. */
  readonly generation: number;
  readonly repeat: number;
  /** What it asked, as a digest. */
  readonly digest: string;
  /** url mode: what the client knows it by, and the digest of the URL. */
  readonly elicitationId?: string;
  readonly url?: string;
  /** What a legacy server calls the elicitation itself. */
  readonly serverId?: string;
}

export interface CallRecord {
  readonly xid: string;
  /** The client's request as it came. */
  readonly message: string;
  /** Where it is answered; null while nobody else could go on with it. */
  readonly stream: string | null;
  /** The replica that lowers it. */
  readonly by: string;
  /** Our seal of the last `input_required`; null before the first. */
  readonly state: string | null;
  readonly asked: Readonly<Record<string, AskedQuestion>>;
}

/** The one stream of an HTTP+SSE session. */
export const SSE_STREAM = 'sse';

export type CallPatch = Partial<Pick<CallRecord, 'stream' | 'state' | 'asked' | 'by'>>;

export interface KeptCall {
  readonly record: CallRecord;
  /** Another replica could go on with it. */
  readonly held: boolean;
  /** False: another replica lowers it now. Rejects when the store does not answer. */
  save(patch: CallPatch): Promise<boolean>;
  /** Answered. `fade`: the response is not in the log, so that it may have to be fetched. */
  end(fade: boolean): Promise<void>;
  /** Lets go without a trace: someone else goes on with it. */
  leave(): void;
}

export interface KeptCallDeps {
  readonly store: Store;
  readonly belongings: Belongings;
  readonly clock: Clock;
  readonly failed: (what: string, error: unknown) => void;
}

/** For a call that begins here. Nothing is written yet. */
export type KeepCall = (session: Session, message: Located, xid: string) => KeptCall;

export function createKeepCall(deps: KeptCallDeps, self: string): KeepCall {
  return (session, message, xid) => {
    // Asked for when it is written, so that a call that never is costs no copy.
    const first: CallRecord = {
      ...{ xid, stream: null, by: self, state: null, asked: {} },
      get message() {
        return textOfMessage(message);
      },
    };
    return keepCall(deps, session, first);
  };
}

/** `stored`: the text that stands in the store already. */
export function keepCall(
  deps: KeptCallDeps,
  session: Session,
  first: CallRecord,
  stored: string | null = null,
): KeptCall {
  const { store, belongings, clock } = deps;
  const { tenant } = session.record;
  const key = callKey(tenant, session.id, first.xid);
  let record = first;
  let text = stored;
  let timer: Timer | null = null;
  let tail: Promise<unknown> = Promise.resolve();

  async function saveNow(patch: CallPatch): Promise<boolean> {
    const next = { ...record, ...patch };
    const value = JSON.stringify(next);
    if (text === null) await belongings.set(session, key, value);
    else if (!(await store.compareAndSet(key, text, value, belongings.lifeMs()))) return false;
    record = next;
    text = value;
    if (timer === null) again();
    return true;
  }

  function neighbours(): string[] {
    const { stream, asked } = record;
    const of = [tenant, session.id] as const;
    const wires = Object.values(asked).map(({ wireId }) => wireKey(...of, wireId));
    if (stream === null || stream === SSE_STREAM) return wires;
    return [...wires, streamKey(...of, stream), streamLogKey(...of, stream)];
  }

  function again(): void {
    timer = clock.setTimer(RENEW_EVERY_MS, () => {
      belongings
        .renew(session, [key, ...neighbours()])
        .catch((error: unknown) => deps.failed('call record', error))
        .finally(() => {
          if (timer !== null) again();
        });
    });
    timer.unref?.();
  }

  function leave(): void {
    timer?.clear();
    timer = null;
  }

  return {
    get record() {
      return record;
    },
    get held() {
      return text !== null && record.stream !== null;
    },
    save(patch) {
      const saving = tail.then(() => saveNow(patch));
      tail = saving.catch(() => undefined);
      return saving;
    },
    leave,
    async end(fade) {
      await tail;
      leave();
      if (text === null) return;
      if (fade) await belongings.fade(session, [key]);
      else await belongings.remove(session, key);
    },
  };
}
