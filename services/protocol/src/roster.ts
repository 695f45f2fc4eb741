// What is open just now, where thousands come and go each second. A Map or Set makes a new table every few deletions,
// and each old table keeps the next one and all that was in it from being collected early; here members know their own
// place, so coming and going leaves nothing behind.

export interface Seated {
  /** Its place; written by its roster only. Begins as -1. */
  seat: number;
}

export class Roster<T extends Seated> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(member: T): void {
    if (this.#members[member.seat] === member) return;
    member.seat = this.#members.length;
    this.#members.push(member);
  }

  /** False: it was not there. The last one takes its place. */
  delete(member: T): boolean {
    const { seat } = member;
    if (this.#members[seat] !== member) return false;
    const last = this.#members.pop()!;
    if (last !== member) {
      this.#members[seat] = last;
      last.seat = seat;
    }
    member.seat = -1;
    return true;
  }

  /** As they are now, in no order; they may leave while they are looked at. */
  all(): readonly T[] {
    return [...this.#members];
  }

  /** In place: nobody may come or go meanwhile. */
  find(fits: (member: T) => boolean): T | undefined {
    return this.#members.find(fits);
  }
}
