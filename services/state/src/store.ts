// The one contract for everything that outlives a process (design §6). Two implementations, memory/ and redis/, and
// one suite over both. Values are text. Every key has a TTL; there is no way to write one without. Checks-and-sets
// are atomic. Pub/sub is a hint and may be lost; logs are not.

export interface LogEntry {
  /** Opaque, orders within its log; pass it back as `after`. */
  readonly position: string;
  readonly value: string;
}

export interface Following {
  close(): void;
}

export interface Store {
  readonly kind: 'memory' | 'redis';

  get(key: string): Promise<string | null>;
  getMany(keys: readonly string[]): Promise<(string | null)[]>;
  set(key: string, value: string, ttlMs: number): Promise<void>;
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean>;
  /** Replaces `expected` by `value`; false when something else, or nothing, stands there. */
  compareAndSet(key: string, expected: string, value: string, ttlMs: number): Promise<boolean>;
  /** Renews the TTL while `expected` stands there: a lease's renewal. */
  compareAndTouch(key: string, expected: string, ttlMs: number): Promise<boolean>;
  compareAndDelete(key: string, expected: string): Promise<boolean>;
  touch(key: string, ttlMs: number): Promise<boolean>;
  delete(key: string): Promise<boolean>;
  /** Reads and removes at once: single use. */
  take(key: string): Promise<string | null>;
  /** Keys that begin with `prefix` (its hash tag included). For sweeps and tests, never on a request. */
  scan(prefix: string): Promise<string[]>;

  /** `full` when the set has `cap` members already and `member` is none of them. Renews the set's TTL. */
  addToSet(key: string, member: string, cap: number, ttlMs: number): Promise<'added' | 'present' | 'full'>;
  removeFromSet(key: string, member: string): Promise<boolean>;
  membersOf(key: string): Promise<string[]>;

  /** Trims to about `maxLength` entries. */
  append(key: string, value: string, maxLength: number, ttlMs: number): Promise<string>;
  /** Entries after `after` (`''` = from the start), oldest first. */
  read(key: string, after: string, limit: number): Promise<LogEntry[]>;
  /** Delivers each later entry once, in order, until closed. Errors of `deliver` end the following. */
  follow(key: string, after: string, deliver: (entry: LogEntry) => void, failed: (error: Error) => void): Following;

  publish(channel: string, message: string): Promise<void>;
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<void>>;

  /** Whether the last operations got through; false while Redis is unreachable. */
  reachable(): boolean;
  close(): Promise<void>;
}

/** `lk:{tenant}:a:b`; the tenant is the Redis Cluster hash tag. `''` for what belongs to no tenant (nodes). */
export function keyOf(tenant: string, ...parts: readonly string[]): string {
  return `lk:{${tenant}}:${parts.map(encodeURIComponent).join(':')}`;
}
