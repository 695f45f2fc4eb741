// The open streams of a connection pair by their ids. Ids rise, so most streams find a slot of their own; who does not is
// kept beside. No Map for all of them: with thousands of short streams a second its tables are what fills the heap.

import type { Stream } from './stream.ts';

const SLOTS = 1024;

export class StreamTable {
  readonly #slots: (Stream | null)[] = new Array<Stream | null>(SLOTS).fill(null);
  readonly #beside = new Map<number, Stream>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): Stream | undefined {
    const at = this.#slots[id & (SLOTS - 1)]!;
    if (at !== null && at.id === id) return at;
    return this.#beside.size === 0 ? undefined : this.#beside.get(id);
  }

  /** Its id must not be there yet. */
  add(stream: Stream): void {
    const slot = stream.id & (SLOTS - 1);
    if (this.#slots[slot] === null) this.#slots[slot] = stream;
    else this.#beside.set(stream.id, stream);
    this.#size += 1;
  }

  delete(id: number): boolean {
    const slot = id & (SLOTS - 1);
    if (this.#slots[slot]?.id === id) this.#slots[slot] = null;
    else if (!this.#beside.delete(id)) return false;
    this.#size -= 1;
    return true;
  }

  all(): Stream[] {
    return [...this.#slots.filter((stream) => stream !== null), ...this.#beside.values()];
  }

  clear(): void {
    this.#slots.fill(null);
    this.#beside.clear();
    this.#size = 0;
  }
}
