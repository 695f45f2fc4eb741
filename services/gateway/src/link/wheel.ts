// Deadlines of many calls on one timer (design §11): each is due at the first tick after its time. Coarse on purpose.

import type { Clock, Timer } from '@lockkeeper/state/clock';

export interface WheelEntry {
  /** The tick it stands at, and its place there; written by the wheel only. */
  slot: number;
  place: number;
  expire(): void;
}

export interface Wheel {
  /** An entry that stands already is moved. */
  add(entry: WheelEntry, ms: number): void;
  remove(entry: WheelEntry): void;
  stop(): void;
}

export function createWheel(clock: Clock, tickMs: number): Wheel {
  const slots = new Map<number, WheelEntry[]>();
  let last = Math.floor(clock.now() / tickMs);
  let timer: Timer | null = null;

  function arm(): void {
    if (timer !== null || slots.size === 0) return;
    timer = clock.setTimer(tickMs, turn);
  }

  function turn(): void {
    timer = null;
    const now = Math.floor(clock.now() / tickMs);
    if (now - last > slots.size) {
      for (const slot of [...slots.keys()].sort((a, b) => a - b)) if (slot <= now) expireSlot(slot);
    } else for (let slot = last + 1; slot <= now; slot++) expireSlot(slot);
    last = Math.max(last, now);
    arm();
  }

  function expireSlot(slot: number): void {
    const due = slots.get(slot);
    if (due === undefined) return;
    slots.delete(slot);
    for (const entry of due) {
      entry.slot = 0;
      entry.expire();
    }
  }

  /** The last one of the slot takes its place. An empty slot stays until its tick: the next call will want it. */
  function remove(entry: WheelEntry): void {
    const slot = slots.get(entry.slot);
    entry.slot = 0;
    if (slot === undefined || slot[entry.place] !== entry) return;
    const last = slot.pop()!;
    if (last === entry) return;
    slot[entry.place] = last;
    last.place = entry.place;
  }

  return {
    add: (entry, ms) => {
      if (entry.slot !== 0) remove(entry);
      if (slots.size === 0) last = Math.floor(clock.now() / tickMs);
      const slot = Math.max(last + 1, Math.ceil((clock.now() + ms) / tickMs));
      let standing = slots.get(slot);
      if (standing === undefined) {
        standing = [];
        slots.set(slot, standing);
      }
      entry.slot = slot;
      entry.place = standing.length;
      standing.push(entry);
      arm();
    },
    remove,
    stop: () => {
      timer?.clear();
      timer = null;
      slots.clear();
    },
  };
}
