// One gateway's listen at this node: first what is honoured, then changes of that kind only, each kind and URI at most
// once per window (GB-066, GB-070). A gateway that takes nothing is sent nothing, and what waits for it stays small.

import { bytesOf } from '@lockkeeper/protocol/json/compose';
import { NO_BODY } from '@lockkeeper/protocol/link/frames';
import { subscribedBy } from '@lockkeeper/protocol/mcp/subscribed';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { StreamReply } from '../link/contract.ts';
import type { Change, FaultHead } from '../raise/contract.ts';
import { LIST_KINDS, listOf, type Wanted } from './contract.ts';

/** Between us and the gateway: what of the listen is honoured. */
export const HONOURED = 'lk/honoured';

const WINDOW_MS = 100;
const MAX_QUEUED_BYTES = 256 * 1024;
/** Beyond it an update of a part is told as one of the resource that was subscribed to. */
const MAX_PARTS = 1024;

export class Outlet {
  readonly wanted: Wanted;
  private readonly reply: StreamReply;
  private readonly clock: Clock;
  private readonly pending = new Map<string, Change>();
  private said: string | null = null;
  private timer: Timer | null = null;
  private over = false;

  constructor(wanted: Wanted, reply: StreamReply, clock: Clock) {
    this.wanted = wanted;
    this.reply = reply;
    this.clock = clock;
  }

  get acknowledged(): boolean {
    return this.said !== null;
  }

  /** Again when it has changed. Not `sure`: nobody was there who could say yes or no. */
  acknowledge(honoured: Wanted, sure: boolean): void {
    if (this.over) return;
    const text = `${this.textOf(honoured)}${sure ? '' : ',"unsure":true'}`;
    if (text === this.said) return;
    this.said = text;
    this.reply.event(HONOURED, bytesOf(text));
    if (this.pending.size > 0) this.arm();
  }

  private textOf(honoured: Wanted): string {
    const lists = LIST_KINDS.map((kind) => `"${kind}":${honoured.lists.has(kind) && this.wanted.lists.has(kind)}`);
    const uris = [...this.wanted.uris].filter((uri) => honoured.uris.has(uri));
    return `${lists.join(',')},"uris":${JSON.stringify(uris)}`;
  }

  offer(change: Change): void {
    if (this.over) return;
    const kind = listOf(change);
    if (kind !== undefined) {
      if (this.wanted.lists.has(kind)) this.hold(kind, { method: change.method });
      return;
    }
    if (change.uri === undefined) return;
    const whole = subscribedBy(change.uri, this.wanted.uris);
    if (whole === undefined) return;
    const uri = this.pending.size < MAX_PARTS ? change.uri : whole;
    this.hold(` ${uri}`, { method: change.method, uri });
  }

  end(fault: FaultHead): void {
    this.reply.fault(fault);
    this.close();
  }

  close(): void {
    this.over = true;
    this.timer?.clear();
    this.pending.clear();
  }

  private hold(key: string, change: Change): void {
    this.pending.set(key, change);
    if (this.said !== null) this.arm();
  }

  private arm(): void {
    this.timer ??= this.clock.setTimer(WINDOW_MS, () => {
      this.timer = null;
      this.flush();
    });
  }

  private flush(): void {
    if (this.reply.queuedBytes() > MAX_QUEUED_BYTES) {
      this.arm();
      return;
    }
    const changes = [...this.pending.values()];
    this.pending.clear();
    for (const { method, uri } of changes) {
      this.reply.event(method, uri === undefined ? NO_BODY : bytesOf(`"uri":${JSON.stringify(uri)}`));
    }
  }
}
