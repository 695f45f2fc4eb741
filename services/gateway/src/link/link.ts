// The gateway's end of the link (design §4): calls, cancels and listens of this gateway, on the nodes that the watch
// shows. Nothing here rejects; what cannot be done comes back as a fault with its reason.

import type { ConnectionOptions } from 'node:tls';
import type { Cancel, Listen, Notify, Open } from '@lockkeeper/protocol/link/frames';
import { NO_BODY } from '@lockkeeper/protocol/link/frames';
import type { Proving } from '@lockkeeper/protocol/link/handshake';
import { Roster } from '@lockkeeper/protocol/roster';
import type { Clock } from '@lockkeeper/state/clock';
import type { NodeRecord } from '@lockkeeper/state/nodes/record';
import type { Signal } from '../leaving.ts';
import type { Link, LinkAnswer, LinkListener, LinkRequest, ListenRequest } from './contract.ts';
import { Errand, type ErrandDeps } from './errand.ts';
import { faultOf } from './errand-fault.ts';
import type { ErrandSpec } from './errand-spec.ts';
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
  const errands = new Roster<Errand>();
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

  const errandDeps: ErrandDeps = { peers, wheel, clock, settled: (errand) => void errands.delete(errand) };

  function create(spec: ErrandSpec, listener: LinkListener, resolve: (answer: LinkAnswer) => void): Errand {
    const errand = new Errand(spec, listener, errandDeps, resolve);
    errands.add(errand);
    return errand;
  }

  function refusal(): LinkAnswer | null {
    if (closed) return { kind: 'fault', fault: faultOf('unavailable', 'This gateway stops.', false) };
    if (errands.size < (deps.maxCalls ?? MAX_CALLS)) return null;
    return { kind: 'fault', fault: faultOf('busy', 'This gateway has too many calls open.', false) };
  }

  function call(request: LinkRequest, listener: LinkListener, signal: Signal): Promise<LinkAnswer> {
    const refused = refusal();
    if (refused !== null) return Promise.resolve(refused);
    if (signal.aborted) {
      return Promise.resolve({ kind: 'fault', fault: faultOf('cancelled', 'The request was cancelled.', false) });
    }
    return new Promise((resolve) => {
      const errand: Errand = create(openSpec(request), listener, (answer) => {
        signal.removeEventListener('abort', onAbort);
        resolve(answer);
      });
      const onAbort = () => errand.abandon('cancelled', 'The request was cancelled.');
      signal.addEventListener('abort', onAbort);
      errand.begin();
    });
  }

  /** Where a cancel goes. It is rare, so nothing is kept for it. */
  function latestOf(xid: string): Errand | undefined {
    let latest: Errand | undefined;
    errands.find((errand) => {
      if (errand.spec.xid === xid && (latest === undefined || errand.number > latest.number)) latest = errand;
      return false;
    });
    return latest;
  }

  function cancel(head: Cancel, owner: string | null): void {
    const errand = latestOf(head.xid);
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
      for (const errand of errands.all()) errand.abandon('lost', 'This gateway stops.');
      peers.end('this gateway stops');
      wheel.stop();
    },
  };
}

function openSpec(request: LinkRequest): ErrandSpec {
  return {
    owner: request.owner,
    xid: request.xid,
    incarnation: request.incarnation,
    node: request.node,
    joins: request.wait === true,
    recorded: request.incarnation !== undefined && request.state !== undefined,
    safe: request.safe,
    body: request.body,
    deadlineMs: request.deadlineMs,
    nodes: request.nodes,
    // What of the request is not the link's own business is not on the wire (open-head.ts names what is).
    head: (stream, deadlineMs, seen, anywhere): Open => {
      const named: Open = { ...request, kind: 'open', stream, deadlineMs };
      const head = anywhere ? joining(named) : named;
      return seen > 0 ? { ...head, fromSeq: seen } : head;
    },
  };
}

/** Nothing is ever run for who only waits (design §4), and no task is made of it. */
function joining({ incarnation: _life, task: _offer, ...head }: Open): Open {
  return { ...head, wait: true };
}

function listenSpec(request: ListenRequest): ErrandSpec {
  const { owner, ...fields } = request;
  return {
    owner,
    xid: null,
    incarnation: undefined,
    node: undefined,
    joins: false,
    recorded: false,
    safe: false,
    body: NO_BODY,
    deadlineMs: null,
    head: (stream): Listen => ({ kind: 'listen', stream, ...fields }),
  };
}
