// From a raw socket to a proved lane, and from two lanes of one gateway to a channel (design §4 `hello`). Strangers get
// a deadline, a size and a number; nothing of theirs is looked at before they have proved that they know the secret.

import type { Hello } from '@lockkeeper/protocol/link/frames';
import { createHandshake, HANDSHAKE_MS, type Proving } from '@lockkeeper/protocol/link/handshake';
import { Lane, type LaneSocket } from '@lockkeeper/protocol/link/lane';
import { LINK_VERSION } from '@lockkeeper/protocol/link/version';
import type { Clock, Timer } from '@lockkeeper/state/clock';

export interface AcceptingSocket extends LaneSocket {
  on(event: 'data', listener: (chunk: Buffer) => void): unknown;
  on(event: 'drain' | 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

export interface ProvedLane {
  readonly hello: Hello;
  readonly lane: Lane;
  /** Set by whoever takes the lane over. */
  drained: () => void;
  broken: (reason: string) => void;
}

export interface Pair {
  readonly small: ProvedLane;
  readonly bulk: ProvedLane;
}

export interface AcceptDeps {
  readonly self: { readonly id: string; readonly incarnation: () => string };
  readonly proving: Proving;
  readonly nonce: () => string;
  readonly clock: Clock;
  /** Before anything read is acted on: false when it must not be. */
  readonly mayRead: () => boolean;
  readonly paired: (pair: Pair) => void;
  readonly refused: (why: string) => void;
}

/** Connections that have not proved themselves, or wait for their other lane. */
const MAX_UNPAIRED = 256;

export interface Acceptor {
  take(socket: AcceptingSocket): void;
  destroy(): void;
}

export function createAcceptor(deps: AcceptDeps): Acceptor {
  const { clock } = deps;
  const unpaired = new Map<Lane, Timer>();
  const waiting = new Map<string, ProvedLane>();

  function pairUp(proved: ProvedLane): void {
    const { hello, lane } = proved;
    const name = JSON.stringify([hello.id, hello.incarnation, hello.pair]);
    const other = waiting.get(name);
    if (other === undefined) {
      waiting.set(name, proved);
      proved.broken = () => waiting.delete(name);
      return;
    }
    if (other.hello.lane === hello.lane) {
      lane.end('the same lane twice');
      return;
    }
    waiting.delete(name);
    settle(lane);
    settle(other.lane);
    deps.paired(hello.lane === 'small' ? { small: proved, bulk: other } : { small: other, bulk: proved });
  }

  function settle(lane: Lane): void {
    unpaired.get(lane)?.clear();
    unpaired.delete(lane);
  }

  function take(socket: AcceptingSocket): void {
    if (unpaired.size >= MAX_UNPAIRED) {
      socket.on('error', () => undefined);
      socket.destroy();
      deps.refused('too many connections that have not proved themselves');
      return;
    }
    let proved: ProvedLane | null = null;
    const handshake = createHandshake({
      self: {
        kind: 'hello',
        version: LINK_VERSION,
        role: 'pool-manager',
        id: deps.self.id,
        incarnation: deps.self.incarnation(),
        lane: 'small',
        pair: '',
        nonce: deps.nonce(),
      },
      proving: deps.proving,
      send: (head) => lane.control(head),
      done: (hello) => {
        proved = { hello, lane, drained: () => undefined, broken: () => undefined };
        pairUp(proved);
      },
    });
    const lane = new Lane(
      {
        socket,
        now: () => clock.now(),
        broken: (reason) => {
          const waited = unpaired.has(lane);
          settle(lane);
          proved?.broken(reason);
          if (waited) deps.refused(reason);
        },
      },
      handshake,
    );
    unpaired.set(
      lane,
      clock.setTimer(HANDSHAKE_MS, () => lane.end('the handshake took too long')),
    );
    socket.on('data', (chunk) => {
      if (deps.mayRead()) lane.received(chunk);
    });
    socket.on('drain', () => proved?.drained());
    socket.on('error', (error) => lane.end(`socket: ${error.message}`));
    socket.on('close', () => lane.end('closed by the peer'));
  }

  return {
    take,
    destroy: () => {
      for (const lane of [...unpaired.keys()]) lane.end('this node stops');
    },
  };
}
