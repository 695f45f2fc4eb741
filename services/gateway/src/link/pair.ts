// Brings up one connection pair to a node: dials both lanes, proves itself on each, and gives a channel when the node
// has done the same (design §4 `hello`). One attempt; node-peer.ts makes the next.

import type { ConnectionOptions } from 'node:tls';
import { Channel } from '@lockkeeper/protocol/link/channel';
import type { ControlHead, Hello, NodeState } from '@lockkeeper/protocol/link/frames';
import { createHandshake, HANDSHAKE_MS, type Proving } from '@lockkeeper/protocol/link/handshake';
import { DEAD_MS, HEARTBEAT_MS, type Heartbeat, startHeartbeat } from '@lockkeeper/protocol/link/heartbeat';
import { Lane } from '@lockkeeper/protocol/link/lane';
import type { Stream } from '@lockkeeper/protocol/link/stream';
import { LINK_VERSION } from '@lockkeeper/protocol/link/version';
import { WireFault } from '@lockkeeper/protocol/link/wire-fault';
import type { Clock } from '@lockkeeper/state/clock';
import { dial, type Target } from './dial.ts';

export interface PairDeps {
  readonly target: Target;
  readonly tls: ConnectionOptions | undefined;
  readonly self: { readonly id: string; readonly incarnation: string };
  readonly proving: Proving;
  readonly nonce: () => string;
  readonly clock: Clock;
  readonly up: (channel: Channel, node: Hello) => void;
  readonly state: (state: NodeState) => void;
  readonly tooSlow: (stream: Stream) => void;
  readonly warn: (words: string) => void;
  /** Once, whether it was ever up or not. */
  readonly down: (reason: string) => void;
}

export interface Pair {
  end(reason: string): void;
}

type Side = { readonly lane: Lane; hello: Hello | null };
const LANES = ['small', 'bulk'] as const;

export function connectPair(deps: PairDeps): Pair {
  const { clock } = deps;
  const pair = deps.nonce();
  const early: NodeState[] = [];
  let channel: Channel | null = null;
  let heartbeat: Heartbeat | null = null;
  let ended = false;
  const deadline = clock.setTimer(HANDSHAKE_MS, () => end('the connection took too long'));
  const sides = { small: createSide('small'), bulk: createSide('bulk') };

  function end(reason: string): void {
    if (ended) return;
    ended = true;
    deadline.clear();
    heartbeat?.stop();
    // The node's end is told first: who is called back below must not choose this node again.
    deps.down(reason);
    channel?.end(reason);
    for (const name of LANES) sides[name].lane.end(reason);
  }

  function createSide(name: 'small' | 'bulk'): Side {
    const handshake = createHandshake({
      self: {
        kind: 'hello',
        version: LINK_VERSION,
        role: 'gateway',
        ...deps.self,
        lane: name,
        pair,
        nonce: deps.nonce(),
      },
      proving: deps.proving,
      send: (head) => lane.control(head),
      done: (hello) => {
        side.hello = hello;
        lane.become(untilJoined);
        join();
      },
    });
    const socket = dial(deps.target, deps.tls, () => handshake.begin());
    const lane: Lane = new Lane({ socket, now: () => clock.now(), broken: end }, handshake);
    socket.on('data', (chunk) => lane.received(chunk));
    socket.on('drain', () => channel?.drained(name));
    socket.on('error', (error) => end(`socket: ${error.message}`));
    socket.on('close', () => end('closed by the node'));
    const side: Side = { lane, hello: null };
    return side;
  }

  /** The node may speak of its state on one lane while we have not read its proof on the other. */
  const untilJoined = {
    control: (head: ControlHead) => {
      if (head.kind !== 'node' || early.length > 8) throw new WireFault('bad-frame', `${head.kind} too early`);
      early.push(head);
    },
    message: () => {
      throw new WireFault('bad-frame', 'message too early');
    },
    part: () => undefined,
    aborted: () => undefined,
  };

  function join(): void {
    const { small, bulk } = sides;
    if (ended || small.hello === null || bulk.hello === null) return;
    if (small.hello.id !== bulk.hello.id || small.hello.incarnation !== bulk.hello.incarnation) {
      end('the lanes lead to two nodes');
      return;
    }
    deadline.clear();
    channel = createChannel();
    heartbeat = startHeartbeat({
      lanes: [small.lane, bulk.lane],
      clock,
      intervalMs: HEARTBEAT_MS,
      deadMs: DEAD_MS,
      dead: end,
    });
    deps.up(channel, small.hello);
    for (const state of early) deps.state(state);
  }

  function createChannel(): Channel {
    return new Channel({
      small: sides.small.lane,
      bulk: sides.bulk.lane,
      control: (head) => {
        if (head.kind !== 'node') throw new WireFault('bad-frame', `${head.kind} from a node`);
        deps.state(head);
      },
      tooSlow: deps.tooSlow,
      failed: (_stream, error) => {
        if (error instanceof WireFault) end(error.message);
        else deps.warn(`a listener failed: ${String(error)}`);
      },
      copy: Buffer.from,
      schedule: (run, crowded) => (crowded ? setImmediate(run) : process.nextTick(run)),
    });
  }

  return { end };
}
