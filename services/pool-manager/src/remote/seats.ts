// The connections to one configured server, divided among all its sessions (http.maxConnections): requests that find no
// seat stand in line, streams that wait for news take no more than half, and some seats stay free for what must always get
// through: answers, cancels, introductions.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { idOf } from '../raise/verdicts.ts';
import { type RemoteDoor, RemoteError, type RemoteRequest, type RemoteResponse } from './contract.ts';

export interface Seats {
  /** One more request finds a seat. */
  readonly free: boolean;
  /** Told when one is free again after there was none. Returns the way to leave. */
  join(room: () => void): () => void;
  /** Counts what runs over it, to the end of each reply. */
  posts(door: RemoteDoor): RemoteDoor;
  /** The same for streams; refuses what would be one too many. */
  streams(door: RemoteDoor): RemoteDoor;
}

const RESERVED = 1 / 8;
const STREAMS = 1 / 2;

/** Configurations of the past are forgotten first. */
const MAX_SERVERS = 10_000;

export function createSeats(): { of(spec: ServerSpec, max: number): Seats } {
  const servers = new Map<string, Seats>();
  return {
    of(spec, max) {
      const id = idOf(spec);
      const seats = servers.get(id) ?? seatsOf(max);
      servers.delete(id);
      servers.set(id, seats);
      if (servers.size > MAX_SERVERS) for (const oldest of servers.keys()) if (servers.delete(oldest)) break;
      return seats;
    },
  };
}

function seatsOf(max: number): Seats {
  const rooms = new Set<() => void>();
  const reserved = Math.min(max - 1, Math.max(2, Math.ceil(max * RESERVED)));
  const most = Math.max(1, Math.floor(max * STREAMS));
  let posts = 0;
  let streams = 0;
  let starved = false;

  const isFree = () => posts + streams < max - reserved || posts === 0;

  function freed(): void {
    if (!starved || !isFree()) return;
    starved = false;
    for (const room of [...rooms]) room();
  }

  return {
    get free() {
      const free = isFree();
      starved ||= !free;
      return free;
    },
    join(room) {
      rooms.add(room);
      return () => void rooms.delete(room);
    },
    posts: (door) =>
      counted(door, () => {
        posts++;
        return () => {
          posts--;
          freed();
        };
      }),
    streams: (door) =>
      counted(door, () => {
        if (streams >= most) {
          throw new RemoteError('connect', 'http.maxConnections leaves no connection for another stream', false);
        }
        streams++;
        return () => {
          streams--;
          freed();
        };
      }),
  };
}

function counted(door: RemoteDoor, enter: () => () => void): RemoteDoor {
  return {
    async send(request) {
      const leave = once(enter());
      try {
        return untilEnd(await door.send(request), request, leave);
      } catch (error) {
        leave();
        throw error;
      }
    },
    close: () => door.close(),
  };
}

/** `over` is called when nothing of the reply is left to come. */
export function untilEnd(response: RemoteResponse, { signal }: RemoteRequest, over: () => void): RemoteResponse {
  signal.addEventListener('abort', over, { once: true });
  const end = () => {
    signal.removeEventListener('abort', over);
    over();
  };
  async function* body(): AsyncGenerator<Uint8Array, void> {
    try {
      yield* response.body;
    } finally {
      end();
    }
  }
  return {
    status: response.status,
    headers: response.headers,
    body: body(),
    discard() {
      response.discard();
      end();
    },
  };
}

function once(run: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    run();
  };
}
