// `notifications/tasks` for listens (protocol.md §1.10 "Status push"): a hint of the store, or now and then a look of
// our own since hints may be lost, then the task is read again and told if it is another than before.

import { copyOf } from '@lockkeeper/protocol/json/bytes';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Exchange } from '../exchange.ts';
import type { TaskEvents } from '../listen/contract.ts';
import type { Room } from '../route/room.ts';
import { sightOf } from '../route/sight.ts';
import { servesTasks } from './offer.ts';
import { findTask, storeOf, taskNow } from './task.ts';

const LOOK_MS = 15_000;
const TERMINAL: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);
const MAX_WATCHED = 256;

export function createTaskEvents(room: Room): TaskEvents {
  return {
    async watch(exchange, taskIds, tell) {
      const watches: Watch[] = [];
      if (servesTasks(room, exchange)) {
        for (const id of taskIds.slice(0, MAX_WATCHED)) {
          const watch = new Watch(room, exchange, id, (members) => tell(id, members));
          if (await watch.begin()) watches.push(watch);
        }
      }
      return {
        honoured: watches.map((watch) => watch.id),
        close: () => {
          for (const watch of watches) watch.close();
        },
      };
    },
  };
}

class Watch {
  readonly id: string;
  private readonly room: Room;
  private readonly exchange: Exchange;
  private readonly tell: (members: Uint8Array) => void;
  private readonly clock: Clock;
  private unsubscribe: (() => Promise<void>) | null = null;
  private timer: Timer | null = null;
  private told = '';
  private looking = false;
  private again = false;
  private closed = false;

  constructor(room: Room, exchange: Exchange, id: string, tell: (members: Uint8Array) => void) {
    this.room = room;
    this.exchange = exchange;
    this.id = id;
    this.tell = tell;
    this.clock = room.deps.clock;
  }

  /** False: not this caller's. Subscribed before the first look, so that nothing falls between. */
  async begin(): Promise<boolean> {
    const { room, exchange, id } = this;
    const found = await findTask(room, sightOf(exchange, true, room.deps.observer), id);
    if (found.kind !== 'task') return false;
    this.unsubscribe = await storeOf(room).onChange(exchange.route.tenant, id, () => this.look());
    this.look();
    return true;
  }

  close(): void {
    this.closed = true;
    this.timer?.clear();
    this.unsubscribe?.().catch(() => {
      // The store is away; the subscription ends with its connection.
    });
    this.unsubscribe = null;
  }

  private look(): void {
    if (this.closed) return;
    this.timer?.clear();
    if (this.looking) {
      this.again = true;
      return;
    }
    this.looking = true;
    this.read()
      .catch((error: unknown) => this.room.deps.log.warn({ err: error }, 'a task could not be read for a listener'))
      .finally(() => {
        this.looking = false;
        const now = this.again;
        this.again = false;
        if (now) this.look();
        else if (!this.closed) this.timer = this.clock.setTimer(LOOK_MS, () => this.look());
      });
  }

  private async read(): Promise<void> {
    const exchange = this.current();
    const sight = exchange === null ? null : sightOf(exchange, true, this.room.deps.observer);
    const found = sight === null ? null : await findTask(this.room, sight, this.id);
    // Gone, or no longer this caller's to see: nothing more is told of it.
    if (sight === null || found?.kind !== 'task') return this.close();
    const now = await taskNow(this.room, sight.exchange, found);
    if (now.kind !== 'shown' || this.closed) return;
    const text = Buffer.from(now.members).toString();
    if (text !== this.told) {
      this.told = text;
      this.tell(copyOf(now.members));
    }
    if (TERMINAL.has(now.status)) this.close();
  }

  /** Under today's policy; null: the route is no more. */
  private current(): Exchange | null {
    const { exchange } = this;
    const snapshot = this.room.deps.config.current();
    const route = snapshot.routes.find((r) => r.path === exchange.route.path && r.tenant === exchange.route.tenant);
    return route === undefined ? null : { ...exchange, snapshot, route };
  }
}
