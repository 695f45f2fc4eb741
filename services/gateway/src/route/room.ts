// What every part of the answer works with, made once, and the few steps that all of them take.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Era } from '@lockkeeper/protocol/mcp/revision';
import type { Caller, Exchange } from '../exchange.ts';
import type { Patience } from './aggregate/patience.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import type { Outcome } from './catalogue/kept.ts';
import type { CallFault, Delivers, RouteDeps, Step, Upstream } from './contract.ts';
import type { UnderWay } from './under-way.ts';
import { upstreamOf } from './upstream.ts';
import { unlessAborted } from './wait.ts';

export interface Room {
  readonly deps: RouteDeps;
  readonly catalogue: Catalogue;
  readonly delivers: Delivers;
  readonly underWay: UnderWay;
  readonly patience: Patience;
}

interface Reached {
  readonly spec: ServerSpec;
  readonly capabilities: ClientCapabilities;
  readonly session: string | null;
  readonly questions: boolean;
  readonly up: Upstream;
}

/** Of each caller the servers it reached last: the next call is mostly the same one's. */
const reached = new WeakMap<Caller, Reached[]>();
const MAX_REACHED = 8;

export function reach(room: Room, exchange: Exchange, spec: ServerSpec): Upstream {
  const questions = room.deps.questions ?? false;
  const { caller, capabilities, session } = exchange;
  let mine = reached.get(caller);
  if (mine === undefined) {
    mine = [];
    reached.set(caller, mine);
  }
  for (const one of mine) {
    const same = one.spec === spec && one.capabilities === capabilities && one.session === session;
    if (same && one.questions === questions) return one.up;
  }
  const up = upstreamOf(exchange, spec, questions);
  if (mine.length >= MAX_REACHED) mine.shift();
  mine.push({ spec, capabilities, session, questions, up });
  return up;
}

export function faulted(fault: CallFault, spec: ServerSpec, era: Era | null): Step {
  return { kind: 'fault', fault, spec, era };
}

const LEFT: Outcome<never> = {
  kind: 'fault',
  fault: { reason: 'cancelled', code: -32603, message: '', mayHaveRun: false },
};

/** A load belongs to all who wait for it; this caller waits no longer than it wants the answer. */
export function awaited<T>(
  exchange: Exchange,
  work: Outcome<T> | Promise<Outcome<T>>,
): Outcome<T> | Promise<Outcome<T>> {
  return work instanceof Promise ? unlessAborted(exchange.signal, work, LEFT) : work;
}
