// The place of one process that is in no pool. It is counted until that process is gone, or until a pool has it.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Place } from '../../raise/place.ts';

export interface SeatHost {
  now(): number;
  /** One more, if there is room and nobody waits for it. */
  count(spec: ServerSpec): boolean;
  uncount(spec: ServerSpec): void;
  freed(seat: Seat): void;
}

interface Spare {
  readonly fingerprint: string;
  readonly since: number;
  readonly end: () => void;
}

export class Seat implements Place {
  readonly spec: ServerSpec;
  /** A start counts for it. */
  lent: boolean;
  /** It is kept for somebody. */
  spare: Spare | null = null;
  /** Of those before, which had not gone yet. */
  leavers = 0;
  running: Promise<unknown> | null = null;
  over = false;
  private readonly host: SeatHost;
  private freed = false;

  constructor(spec: ServerSpec, lent: boolean, host: SeatHost) {
    this.spec = spec;
    this.lent = lent;
    this.host = host;
  }

  /** Processes here that are on their way out. */
  get leaving(): number {
    return this.leavers + (this.over && this.spare === null && this.running !== null ? 1 : 0);
  }

  holds(gone: Promise<unknown>): void {
    this.running = gone;
    const over = () => {
      if (this.running !== gone) return;
      this.running = null;
      if (this.over) this.free();
    };
    gone.then(over, over);
  }

  async next(): Promise<void> {
    const before = this.running;
    if (before === null) return;
    const { spec, host } = this;
    if (!host.count(spec)) return void (await before);
    this.leavers++;
    this.running = null;
    const gone = () => {
      this.leavers--;
      host.uncount(spec);
    };
    before.then(gone, gone);
  }

  kept(fingerprint: string, end: () => void): void {
    this.spare = { fingerprint, end, since: this.host.now() };
  }

  leaves(): void {
    this.spare = null;
  }

  handOver(): void {
    this.spare = null;
    this.free();
  }

  done(): void {
    this.over = true;
    if (this.running === null) this.free();
  }

  /** Its process is a pool's from now on, and so is what it counts for. */
  adopted(): void {
    this.freed = true;
    this.spare = null;
    this.host.freed(this);
  }

  private free(): void {
    if (this.freed) return;
    this.freed = true;
    this.host.freed(this);
    if (!this.lent) this.host.uncount(this.spec);
  }
}
