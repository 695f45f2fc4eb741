// subscriptions/listen of a modern client, from its ladder to its end (protocol.md §2.9): always a stream. It ends with
// the result at drain, when the token expires, when the policy takes back what was promised and when its route goes;
// without a word when the client leaves.

import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Timer } from '@lockkeeper/state/clock';
import type { Envelope } from '../era/envelope.ts';
import type { Refusal } from '../errors.ts';
import type { Authenticated, Exchange } from '../exchange.ts';
import type { Headers, HttpOut, Located } from '../http/contract.ts';
import { renderErrorText, retryHeaders, statusOf } from '../http/refuse.ts';
import { readDeclared } from '../lower/declared.ts';
import { climb } from '../lower/modern-ladder.ts';
import type { Recorder, Recording } from '../observe/recorder.ts';
import { mergeTrace } from '../observe/trace.ts';
import { OpenListen, type OpenListenDeps } from './open-listen.ts';
import { readWish } from './wish.ts';

export interface ListenAsk {
  readonly ticket: Authenticated;
  readonly headers: Headers;
  readonly message: Located;
  readonly envelope: Envelope;
  readonly out: HttpOut;
}

export interface ModernListensDeps extends OpenListenDeps {
  readonly recorder: Recorder;
  readonly maxPerPrincipal?: number;
}

export interface ModernListens {
  serve(ask: ListenAsk): Promise<void>;
  readonly size: number;
  /** Every stream ends with its result, spread over `ms`; new ones are refused. */
  drain(ms: number): void;
  close(): void;
}

const MAX_PER_PRINCIPAL = 64;
const METHOD = 'subscriptions/listen';

export function createModernListens(deps: ModernListensDeps): ModernListens {
  const { room, clock } = deps;
  const open = new Set<OpenListen>();
  const counts = new Map<string, number>();
  const timers = new Set<Timer>();
  let draining = false;

  const unwatch = room.deps.config.onChange((next) => {
    for (const { audience } of [...open]) audience.reload(next);
  });

  function enter(principal: Principal): (() => void) | null {
    const { tenant, issuer, subject, client } = principal;
    const key = JSON.stringify([tenant, issuer, subject, client]);
    const count = counts.get(key) ?? 0;
    if (count >= (deps.maxPerPrincipal ?? MAX_PER_PRINCIPAL)) return null;
    counts.set(key, count + 1);
    return () => {
      const left = (counts.get(key) ?? 1) - 1;
      if (left === 0) counts.delete(key);
      else counts.set(key, left);
    };
  }

  async function serve(ask: ListenAsk): Promise<void> {
    const { ticket, message, out } = ask;
    const recording = begin(deps.recorder, ask);
    const refuse = (refusal: Refusal): void => {
      const frame = renderErrorText(refusal, message.idText ?? undefined, ticket.xid);
      out.json(statusOf(refusal), frame, retryHeaders(refusal));
      recording.end({ outcome: refusal.reason, status: statusOf(refusal), bytesOut: frame.length });
    };
    const unfit = climb({ route: ticket.route, ...ask });
    if (unfit !== null) return refuse(unfit);
    if (draining) return refuse({ reason: 'unavailable', retryAfterMs: 1_000 });
    const gone = new AbortController();
    const exchange = exchangeOf(ask, recording, gone.signal);
    const wish = readWish(message, exchange.capabilities);
    if (wish.kind === 'refusal') return refuse(wish.refusal);
    if (!out.accepts.sse) return refuse({ reason: 'not-acceptable' });
    const left = enter(ticket.caller.principal);
    if (left === null) return refuse({ reason: 'too-many', message: 'Too many listens are open for this caller.' });
    const listen = new OpenListen(deps, {
      ...{ exchange, out, recording, refuse, wanted: wish.wanted, taskIds: wish.taskIds },
      idText: message.idText ?? 'null',
      over: (one) => {
        open.delete(one);
        left();
      },
    });
    open.add(listen);
    out.onVanish(() => {
      gone.abort();
      listen.end('vanished');
    });
    await listen.run();
  }

  return {
    serve,
    get size() {
      return open.size;
    },
    drain(ms) {
      draining = true;
      for (const one of open) timers.add(clock.setTimer(deps.random() * ms, () => one.end('drained')));
    },
    close() {
      draining = true;
      unwatch();
      for (const timer of timers) timer.clear();
      for (const one of [...open]) one.end('drained');
    },
  };
}

function begin(recorder: Recorder, { ticket, message, envelope }: ListenAsk): Recording {
  return recorder.begin(ticket, {
    era: 'modern',
    revision: envelope.revision ?? null,
    method: METHOD,
    bytesIn: message.bytes.length,
    trace: mergeTrace(ticket.trace, envelope.trace),
  });
}

const NO_CAPABILITIES: ClientCapabilities = Object.freeze({});

function exchangeOf({ ticket, message, envelope }: ListenAsk, recording: Recording, signal: AbortSignal): Exchange {
  const declared = envelope.capabilities === undefined ? null : readDeclared(message.bytes, envelope.capabilities);
  return {
    ...ticket,
    trace: recording.trace,
    era: 'modern',
    revision: envelope.revision ?? '',
    session: null,
    capabilities: declared?.kind === 'capabilities' ? declared.capabilities : NO_CAPABILITIES,
    signal,
    onVanish: 'cancel',
  };
}
