// Round-robin (design §5 "fair queueing"): the one whose turn it was goes behind the others. A queue that nobody can fill
// for himself: many calls of one principal do not hold up the one call of another.

/** Items in groups; groups take turns, items of one group come in order. */
export class Turns<T> {
  private readonly groups = new Map<string, Set<T>>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(group: string, item: T): void {
    const items = this.groups.get(group) ?? new Set();
    if (items.has(item)) return;
    items.add(item);
    this.groups.set(group, items);
    this.count++;
  }

  has(group: string, item: T): boolean {
    return this.groups.get(group)?.has(item) === true;
  }

  delete(group: string, item: T): void {
    const items = this.groups.get(group);
    if (items?.delete(item) !== true) return;
    this.count--;
    if (items.size === 0) this.groups.delete(group);
  }

  /** Whose turn it is. */
  peek(): T | undefined {
    for (const items of this.groups.values()) for (const item of items) return item;
    return undefined;
  }

  /** The first of each group, in the order of their turns. */
  heads(): [string, T][] {
    const heads: [string, T][] = [];
    for (const [group, items] of this.groups) {
      for (const item of items) {
        heads.push([group, item]);
        break;
      }
    }
    return heads;
  }

  /** Takes that one out, and puts its group behind the others. */
  take(): T | undefined {
    for (const [group, items] of this.groups) {
      for (const item of items) {
        this.served(group, item);
        return item;
      }
    }
    return undefined;
  }

  /** It had its turn: out, and its group behind the others. */
  served(group: string, item: T): void {
    this.delete(group, item);
    const rest = this.groups.get(group);
    if (rest === undefined) return;
    this.groups.delete(group);
    this.groups.set(group, rest);
  }

  /** The newest of the group that has most; undefined when that has hardly more than one newcomer of `group` would have. */
  newestOfMost(group: string): T | undefined {
    let most: Set<T> | undefined;
    for (const items of this.groups.values()) if (most === undefined || items.size > most.size) most = items;
    const own = this.groups.get(group)?.size ?? 0;
    return most !== undefined && most.size > own + 1 ? [...most].at(-1) : undefined;
  }

  /** All of them in the order in which they would be taken. */
  inTurn(): [string, T][] {
    const rows = [...this.groups].map(([group, items]) => [...items].map((item): [string, T] => [group, item]));
    const longest = Math.max(0, ...rows.map((row) => row.length));
    return Array.from({ length: longest }, (_x, i) => rows.flatMap((row) => row.slice(i, i + 1))).flat();
  }

  /** All of them, groups one after another. */
  all(): T[] {
    return [...this.groups.values()].flatMap((items) => [...items]);
  }
}
