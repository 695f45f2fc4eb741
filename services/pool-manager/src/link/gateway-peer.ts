// One connected gateway: its channel's streams become calls of the dispatcher, and its vanishing is told to each of
// them (design §4 amendment 6). It decides nothing about what a call means.

import { Channel } from '@lockkeeper/protocol/link/channel';
import type { Cancel, Listen, NodeState, Notify, Open, StreamHead } from '@lockkeeper/protocol/link/frames';
import { DEAD_MS, HEARTBEAT_MS, startHeartbeat } from '@lockkeeper/protocol/link/heartbeat';
import type { Stream, StreamHandler } from '@lockkeeper/protocol/link/stream';
import { WireFault } from '@lockkeeper/protocol/link/wire-fault';
import type { Clock } from '@lockkeeper/state/clock';
import type { Pair } from './accept.ts';
import type { Dispatcher, OpenStream } from './contract.ts';
import { Reply } from './reply.ts';

type Refused = Parameters<Reply['fault']>[0];

export interface GatewayPeerDeps {
  readonly pair: Pair;
  readonly clock: Clock;
  readonly dispatcher: Dispatcher;
  /** What stands against serving it now; null when nothing does. */
  readonly refuses: (head: Open | Listen) => Refused | null;
  readonly control: (head: Cancel | Notify) => void;
  readonly promised: (channel: Channel) => void;
  /** Counts streams of all gateways. */
  readonly opened: (head: Open | Listen) => void;
  readonly closed: (head: Open | Listen) => void;
  readonly gone: (peer: GatewayPeer, reason: string) => void;
  readonly warn: (words: string) => void;
}

export interface GatewayPeer {
  readonly id: string;
  readonly streams: number;
  tell(state: NodeState): void;
  /** Ends the streams that never end by themselves. */
  endListens(fault: Refused): void;
  end(reason: string): void;
}

export function createGatewayPeer(deps: GatewayPeerDeps): GatewayPeer {
  const { pair, dispatcher } = deps;
  const listens = new Set<Reply>();

  function accept(stream: Stream, head: StreamHead): StreamHandler {
    if (head.kind !== 'open' && head.kind !== 'listen')
      throw new WireFault('bad-frame', `a stream begins with ${head.kind}`);
    deps.opened(head);
    const fromSeq = head.kind === 'open' ? (head.fromSeq ?? 0) : 0;
    const ended = () => {
      listens.delete(reply);
      deps.closed(head);
    };
    const reply: Reply = new Reply(channel, stream, fromSeq, { promised: deps.promised, ended });
    if (head.kind === 'listen') listens.add(reply);
    return serve(stream, reply);
  }

  function begin(head: Open | Listen, body: Uint8Array, reply: Reply): OpenStream | null {
    const refused = deps.refuses(head);
    if (refused !== null) {
      reply.fault(refused);
      return null;
    }
    try {
      return head.kind === 'open' ? dispatcher.open(head, body, reply) : dispatcher.listen(head, reply);
    } catch (error) {
      deps.warn(`the dispatcher failed: ${String(error)}`);
      reply.fault({ reason: 'internal', code: -32603, message: 'Internal error.', mayHaveRun: true });
      return null;
    }
  }

  function serve(stream: Stream, reply: Reply): StreamHandler {
    let served: OpenStream | null = null;
    return {
      message: (head, body) => {
        if (head.kind === 'open' || head.kind === 'listen') served = begin(head, body, reply);
        else if (head.kind === 'close') {
          channel.leave(stream);
          if (reply.abandon()) served?.vanished('close');
        } else throw new WireFault('bad-frame', `${head.kind} from a gateway`);
        return undefined;
      },
      broken: () => {
        if (reply.abandon()) served?.vanished('break');
      },
    };
  }

  const channel: Channel = new Channel({
    small: pair.small.lane,
    bulk: pair.bulk.lane,
    accept,
    control: (head) => {
      if (head.kind === 'node') throw new WireFault('bad-frame', 'node from a gateway');
      deps.control(head);
    },
    tooSlow: (stream) => channel.leave(stream),
    failed: (_stream, error) => {
      if (error instanceof WireFault) end(error.message);
      else deps.warn(`a stream's receiver failed: ${String(error)}`);
    },
    copy: Buffer.from,
    schedule: (run, crowded) => (crowded ? setImmediate(run) : process.nextTick(run)),
  });
  const heartbeat = startHeartbeat({
    lanes: [pair.small.lane, pair.bulk.lane],
    clock: deps.clock,
    intervalMs: HEARTBEAT_MS,
    deadMs: DEAD_MS,
    dead: (reason) => end(reason),
  });
  let ended = false;

  function end(reason: string): void {
    if (ended) return;
    ended = true;
    heartbeat.stop();
    channel.end(reason);
    deps.gone(peer, reason);
  }

  const peer: GatewayPeer = {
    id: pair.small.hello.id,
    get streams() {
      return channel.size;
    },
    tell: (state) => channel.control(state),
    endListens: (fault) => {
      for (const reply of [...listens]) reply.fault(fault);
    },
    end,
  };
  for (const name of ['small', 'bulk'] as const) {
    pair[name].drained = () => channel.drained(name);
    pair[name].broken = end;
  }
  return peer;
}
