// A connection to one child: its open calls, who gets a log message, what the pool asks of it. The era's own part is
// the speaker's.

import { type Member, membersOf } from '@lockkeeper/protocol/json/scan';
import type { Open } from '@lockkeeper/protocol/link/frames';
import { LEGACY_METHODS, MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import type { Clock } from '@lockkeeper/state/clock';
import type { ExitReason } from '../child/contract.ts';
import { Call, type CallOwner } from './call.ts';
import type { Change, Connection, Log, UpstreamCall, UpstreamReply } from './contract.ts';
import { changeOf, type SideOfWire } from './side.ts';
import type { Room, Speaker } from './speaker.ts';
import type { Wire } from './wire/wire.ts';

export interface RaisedDeps {
  readonly wire: Wire;
  readonly speaker: Speaker;
  readonly side: SideOfWire;
  readonly log: Log;
  readonly clock: Clock;
  maxResultBytes(): number;
  changed(change: Change): void;
}

const NOBODY: ReadonlySet<Call> = new Set();
const CHANGES: ReadonlySet<string> = new Set([
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
]);

export class RaisedConnection implements Connection, CallOwner, Room {
  readonly wire: Wire;
  readonly speaker: Speaker;
  readonly side: SideOfWire;
  readonly log: Log;
  readonly clock: Clock;
  readonly closed: Promise<ExitReason>;
  uses = 0;
  private readonly deps: RaisedDeps;
  private readonly calls = new Set<Call>();
  private stopped = false;

  constructor(deps: RaisedDeps) {
    this.deps = deps;
    this.wire = deps.wire;
    this.speaker = deps.speaker;
    this.side = deps.side;
    this.log = deps.log;
    this.clock = deps.clock;
    this.closed = deps.wire.closed;
    deps.wire.listener = {
      notification: (line, method, params, of) => this.notification(line, method, params, of),
      request: (line, id, method, params, of) => this.speaker.request(line, id, method, params, this.roomOf(of)),
    };
  }

  get profile(): Profile {
    return this.speaker.profile();
  }

  get pid(): number | undefined {
    return this.wire.pid;
  }

  get fingerprint(): string {
    return this.speaker.fingerprint;
  }

  get open(): number {
    return this.calls.size;
  }

  get gone(): boolean {
    return this.wire.exited !== null;
  }

  get tainted(): boolean {
    return this.stopped || (this.speaker.taints && this.wire.unquiet);
  }

  /** Of several that run, which only one person's may, the one that began or went on last. */
  asker(): Open | null {
    let running: Call | null = null;
    let parked: Call | null = null;
    let several = false;
    for (const call of this.calls) {
      if (MODERN_METHODS.get(call.head.method)?.mrtr !== true) continue;
      if (!call.parked) running = call;
      else if (parked === null) parked = call;
      else several = true;
    }
    if (running !== null) return running.head;
    return several ? null : (parked?.head ?? null);
  }

  /** A reply tells whose it is; where nothing tells, the rule of the baton stands. */
  private roomOf(of: number | undefined): Room {
    if (of === undefined || of === 0) return this;
    const owner = this.ownerOf(of);
    return { open: this.open, asker: () => owner?.head ?? null };
  }

  /** Null: the node's own request, or one that nobody waits for any more. */
  private ownerOf(of: number): Call | null {
    for (const call of this.calls) if (call.owns(of)) return call;
    return null;
  }

  call(head: Open, members: Uint8Array, reply: UpstreamReply): UpstreamCall {
    this.uses++;
    const list = (MODERN_METHODS.get(head.method) ?? LEGACY_METHODS.get(head.method))?.list === true;
    const call = new Call(this, head, members, reply, list);
    const local = this.speaker.local(head, members);
    this.calls.add(call);
    if (local !== null) call.settle(local);
    else {
      this.speaker.before(head, this);
      call.send();
    }
    return call;
  }

  maxResultBytes(): number {
    return this.deps.maxResultBytes();
  }

  settled(call: Call): void {
    this.calls.delete(call);
  }

  parked(call: Call, parked: boolean): void {
    if (!this.calls.delete(call)) return;
    call.parked = parked;
    this.calls.add(call);
  }

  /** Those that run, or where none does all. */
  private speaking(): ReadonlySet<Call> {
    let parked = 0;
    for (const call of this.calls) if (call.parked) parked++;
    if (parked === 0 || parked === this.calls.size) return this.calls;
    return new Set([...this.calls].filter((call) => !call.parked));
  }

  private hearing(of: number | undefined): ReadonlySet<Call> {
    if (of === undefined || of === 0) return this.speaking();
    const owner = this.ownerOf(of);
    return owner === null ? NOBODY : new Set([owner]);
  }

  stop(why: string, how?: 'now'): Promise<void> {
    this.stopped = true;
    return this.wire.stop(why, how);
  }

  private notification(line: Uint8Array, method: string, params: Member | undefined, of: number | undefined): void {
    if (method === 'notifications/message') {
      const owner = params?.kind === 'object' ? this.speaker.logOwner(this.hearing(of)) : null;
      if (owner !== null) owner.logged(line, membersOf(line, params!));
      return;
    }
    const isChange = CHANGES.has(method);
    if (this.profile.era === 'modern' && this.side.takes(line, method, params, isChange)) return;
    if (!isChange) {
      this.speaker.notification(line, method, params);
      return;
    }
    const change = changeOf(line, method, params);
    if (method === 'notifications/tools/list_changed') this.speaker.toolsChanged?.();
    this.side.changed(change);
    this.deps.changed(change);
  }
}
