// The gateway's end of the link (design §4): calls, cancels and listens of this gateway, on the nodes that the watch
// shows. Nothing here rejects; what cannot be done comes back as a fault with its reason.

import type { ConnectionOptions } from 'node:tls';
import type { Cancel, Listen, Notify, Open } from '@lockkeeper/protocol/link/frames';
import { NO_BODY } from '@lockkeeper/protocol/link/frames';
import type { Proving } from '@lockkeeper/protocol/link/handshake';
import type { Clock } from '@lockkeeper/state/clock';
import type { NodeRecord } from '@lockkeeper/state/nodes/record';
import type { Link, LinkAnswer, LinkListener, LinkRequest, ListenRequest } from './contract.ts';
import { Errand, type ErrandSpec, faultOf } from './errand.ts';
import { createPeers } from './peers.ts';
import { createWheel } from './wheel.ts';

export interface LinkDeps {
  /** The live nodes; started and closed by whoever made it. */
  readonly nodes: {
    live(): readonly NodeRecord[];
    onChange(listener: (nodes: readonly NodeRecord[]) => void): () => void;
  };
  /** This replica; `incarnation` is fresh for each life. */
  readonly self: { readonly id: string; readonly incarnation: string };
  readonly proving: Proving;
  readonly nonce: () => string;
  /** 0 ≤ x < 1, for jitter. */
  readonly random: () => number;
  readonly clock: Clock;
  readonly log: (level: 'info' | 'warn', words: string) => void;
  readonly tls?: ConnectionOptions;
  readonly maxCalls?: number;
}

const TICK_MS = 250;
const START_MS = 3_000;
const MAX_CALLS = 32_768;

export function createLink(deps: LinkDeps): Link {
  const { clock } = deps;
  const wheel = createWheel(clock, TICK_MS);
  const errands = new Set<Errand>();
  /** The latest errand of each exchange: where a cancel goes. */
  const exchanges = new Map<string, Errand>();
  let closed = false;
  let unwatch: (() => void) | undefined;

  const peers = createPeers({
    self: deps.self,
    proving: deps.proving,
    nonce: deps.nonce,
    random: deps.random,
    clock,
    tls: deps.tls,
    log: deps.log,
    tooSlow: (stream) => {
      const errand = stream.handler as Errand | null;
      errand?.abandon('too-slow', 'The answer was not taken fast enough.');
    },
  });

  function create(spec: ErrandSpec, listener: LinkListener, resolve: (answer: LinkAnswer) => void): Errand {
    const errand = new Errand(spec, listener, { peers, wheel, clock, settled: (e) => errands.delete(e) }, resolve);
    errands.add(errand);
    return errand;
  }

  function refusal(): LinkAnswer | null {
    if (closed) return { kind: 'fault', fault: faultOf('unavailable', 'This gateway stops.', false) };
    if (errands.size < (deps.maxCalls ?? MAX_CALLS)) return null;
    return { kind: 'fault', fault: faultOf('busy', 'This gateway has too many calls open.', false) };
  }

  function call(request: LinkRequest, listener: LinkListener, signal: AbortSignal): Promise<LinkAnswer> {
    const refused = refusal();
    if (refused !== null) return Promise.resolve(refused);
    if (signal.aborted) {
      return Promise.resolve({ kind: 'fault', fault: faultOf('cancelled', 'The request was cancelled.', false) });
    }
    return new Promise((resolve) => {
      const { xid } = request;
      const errand: Errand = create(openSpec(request), listener, (answer) => {
        signal.removeEventListener('abort', onAbort);
        if (exchanges.get(xid) === errand) exchanges.delete(xid);
        resolve(answer);
      });
      const onAbort = () => errand.abandon('cancelled', 'The request was cancelled.');
      signal.addEventListener('abort', onAbort);
      exchanges.set(xid, errand);
      errand.begin();
    });
  }

  function cancel(head: Cancel, owner: string | null): void {
    const errand = exchanges.get(head.xid);
    const known = errand?.peer?.channel;
    if (known) known.control(head);
    else if (errand !== undefined) errand.abandon('cancelled', 'The request was cancelled.');
    else if (owner === null) for (const peer of peers.connected()) peer.channel?.control(head);
    else peers.choose(owner, null)?.channel?.control(head);
  }

  async function start(): Promise<void> {
    unwatch = deps.nodes.onChange((nodes) => peers.replace(nodes));
    peers.replace(deps.nodes.live());
    const until = clock.now() + START_MS;
    while (!closed && !peers.settled() && clock.now() < until) {
      await new Promise<void>((resolve) => {
        const timer = clock.setTimer(until - clock.now(), () => go());
        const stop = peers.onceChanged(() => go());
        const go = () => {
          timer.clear();
          stop();
          resolve();
        };
      });
    }
  }

  return {
    call,
    cancel: (_tenant, owner, xid, principal, session) => cancel({ kind: 'cancel', xid, principal, session }, owner),
    listen: (request, listener) => {
      const refused = refusal();
      if (refused !== null) {
        queueMicrotask(() => listener.ended(refused));
        return { close: () => undefined };
      }
      let over = false;
      const errand = create(listenSpec(request), listener, (answer) => {
        if (!over) listener.ended(answer);
      });
      queueMicrotask(() => errand.begin());
      return {
        close: () => {
          over = true;
          errand.abandon('cancelled', 'No longer wanted.');
        },
      };
    },
    notify: ({ owner, ...fields }) => {
      const head: Notify = { kind: 'notify', ...fields };
      peers.choose(owner, null)?.channel?.control(head);
    },
    nodes: () => peers.connected().length,
    start,
    close: async () => {
      if (closed) return;
      closed = true;
      unwatch?.();
      for (const errand of [...errands]) errand.abandon('lost', 'This gateway stops.');
      peers.end('this gateway stops');
      wheel.stop();
    },
  };
}

function openSpec(request: LinkRequest): ErrandSpec {
  const { owner, body, safe, node, ...fields } = request;
  return {
    owner,
    incarnation: request.incarnation,
    node,
    joins: request.wait === true,
    safe,
    body,
    deadlineMs: request.deadlineMs,
    head: (stream, deadlineMs, seen): Open => {
      const head: Open = { kind: 'open', stream, ...fields, deadlineMs };
      return seen > 0 ? { ...head, fromSeq: seen } : head;
    },
  };
}

function listenSpec(request: ListenRequest): ErrandSpec {
  const { owner, ...fields } = request;
  return {
    owner,
    incarnation: undefined,
    node: undefined,
    joins: false,
    safe: false,
    body: NO_BODY,
    deadlineMs: null,
    head: (stream): Listen => ({ kind: 'listen', stream, ...fields }),
  };
}
