// Two ends of the link joined in memory. What one end writes stays on the wire until the test lets it arrive, lane by
// lane, so that a test decides who overtakes whom.

import { Channel } from '../../src/link/channel.ts';
import type { ControlHead, Open, StreamHead } from '../../src/link/frames.ts';
import { Lane, type LaneSink } from '../../src/link/lane.ts';
import type { Stream, StreamHandler } from '../../src/link/stream.ts';

export class Wire {
  readonly written: Uint8Array[] = [];
  readonly lane: Lane;
  other: Wire | null = null;
  writableLength = 0;
  destroyed = false;

  constructor(broken: (reason: string) => void) {
    this.lane = new Lane({ socket: this, now: () => 0, broken }, nothing);
  }

  write(bytes: Uint8Array): boolean {
    // The channel may use its buffer again: keep what was written, as a socket's kernel buffer would.
    this.written.push(bytes.slice());
    return true;
  }
  cork(): void {}
  uncork(): void {}
  destroy(): void {
    this.destroyed = true;
  }

  /** Lets arrive what was written to this side, at most `pieces` writes of it. */
  arrive(pieces = Number.POSITIVE_INFINITY): number {
    const taken = this.written.splice(0, pieces);
    for (const piece of taken) this.other!.lane.received(piece);
    return taken.length;
  }

  get bytes(): number {
    return this.written.reduce((sum, b) => sum + b.length, 0);
  }
}

const nothing: LaneSink = {
  control: () => undefined,
  message: () => undefined,
  part: () => undefined,
  aborted: () => undefined,
};

export interface End {
  readonly channel: Channel;
  readonly small: Wire;
  readonly bulk: Wire;
  readonly controls: ControlHead[];
  readonly broken: string[];
  readonly tooSlow: Stream[];
}

export interface Joined {
  readonly gateway: End;
  readonly node: End;
  /** Runs what the channels put off to the end of the burst. */
  settle(): void;
  /** Everything arrives, until nothing more is written. */
  flow(): void;
}

export function join(accept: (stream: Stream, head: StreamHead) => StreamHandler): Joined {
  const later: (() => void)[] = [];
  const end = (accepting?: typeof accept): End => {
    const broken: string[] = [];
    const small = new Wire((reason) => broken.push(reason));
    const bulk = new Wire((reason) => broken.push(reason));
    const controls: ControlHead[] = [];
    const tooSlow: Stream[] = [];
    const channel = new Channel({
      small: small.lane,
      bulk: bulk.lane,
      ...(accepting && { accept: accepting }),
      control: (head) => controls.push(head),
      tooSlow: (stream) => {
        tooSlow.push(stream);
        channel.close(stream);
      },
      failed: (_stream, error) => {
        throw error;
      },
      schedule: (run) => later.push(run),
    });
    return { channel, small, bulk, controls, broken, tooSlow };
  };
  const gateway = end();
  const node = end(accept);
  for (const lane of ['small', 'bulk'] as const) {
    gateway[lane].other = node[lane];
    node[lane].other = gateway[lane];
  }
  const settle = () => {
    for (let run = later.shift(); run !== undefined; run = later.shift()) run();
  };
  const flow = () => {
    for (let moved = 1; moved > 0; ) {
      settle();
      moved = [gateway.small, gateway.bulk, node.small, node.bulk].reduce((sum, wire) => sum + wire.arrive(), 0);
      for (const end of [gateway, node]) for (const lane of ['small', 'bulk'] as const) end.channel.drained(lane);
      settle();
    }
  };
  return { gateway, node, settle, flow };
}

export function openHead(stream: number, change: Partial<Open> = {}): Open {
  return {
    kind: 'open',
    stream,
    xid: `x${stream}`,
    method: 'tools/call',
    server: 'echo',
    digest: 'd1',
    principal: { tenant: 'acme', issuer: 'https://idp.example', subject: 'alice', client: 'editor' },
    session: null,
    capabilities: {},
    downstreamEra: 'modern',
    progress: false,
    deadlineMs: 60_000,
    onVanish: 'cancel',
    ...change,
  };
}

/** A handler that keeps what it is given, as `kind` or `kind:seq`. */
export function keeping(got: string[]): StreamHandler {
  return {
    message: (head) => {
      got.push('seq' in head ? `${head.kind}:${head.seq}` : head.kind);
      return undefined;
    },
    broken: (reason) => got.push(`broken ${reason}`),
  };
}

export const bytes = (n: number, fill = 0x61) => new Uint8Array(n).fill(fill);
