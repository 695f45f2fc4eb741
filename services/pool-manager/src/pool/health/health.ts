// Whether a child may be started now. Two histories stand over a start: the key's own (a crash in the middle of a call
// concerns whoever caused it), and the server's, of starts that never succeeded for anyone: those are shared by all keys,
// so that twenty sessions of a broken server start it once and not twenty times (GB-024, GB-027).

import { CrashHistory, type During, type Gate } from './crash-history.ts';

interface ServerHealth {
  readonly failures: CrashHistory;
  /** Starts under way, of all keys. */
  starting: number;
  proven: boolean;
  forgotten: boolean;
}

export class Health {
  private readonly keys = new Map<string, CrashHistory>();
  private readonly servers = new Map<string, ServerHealth>();

  /** Why not, or null. */
  gate(digest: string, key: string, now: number): Gate | null {
    const own = this.keys.get(key)?.gate(now) ?? null;
    const all = this.servers.get(digest)?.failures.gate(now) ?? null;
    if (own === null || all === null) return own ?? all;
    return own.untilMs >= all.untilMs ? own : all;
  }

  isProven(digest: string): boolean {
    return this.servers.get(digest)?.proven === true;
  }

  /** An unproven server is started once at a time, whoever asks. */
  mayStartAnother(digest: string): boolean {
    const server = this.servers.get(digest);
    return server === undefined || server.proven || server.starting === 0;
  }

  /** For anyone, under any key. */
  isStarting(digest: string): boolean {
    return (this.servers.get(digest)?.starting ?? 0) > 0;
  }

  starting(digest: string): void {
    const server = this.server(digest);
    server.starting++;
    server.forgotten = false;
  }

  started(digest: string): void {
    const server = this.server(digest);
    server.starting--;
    server.proven = true;
    server.failures.clear();
  }

  startFailed(digest: string, key: string, words: string, tail: string, now: number, denied = false): void {
    const server = this.server(digest);
    server.starting--;
    server.proven = false;
    server.failures.crashed(words, tail, 0, now, 'start', denied);
    this.crashed(key, words, tail, 0, now, 'start', denied);
  }

  /** It was given up by us: no verdict. */
  startAbandoned(digest: string): void {
    this.server(digest).starting--;
  }

  crashed(
    key: string,
    words: string,
    tail: string,
    uptimeMs: number,
    now: number,
    during: During,
    denied = false,
  ): void {
    const history = this.keys.get(key) ?? new CrashHistory();
    history.crashed(words, tail, uptimeMs, now, during, denied);
    this.keys.set(key, history);
  }

  /** The newest failure of this key, for those who wait no longer. */
  lastTail(digest: string, key: string): string {
    return this.keys.get(key)?.lastTail ?? this.servers.get(digest)?.failures.lastTail ?? '';
  }

  openCircuits(now: number): number {
    return [...this.keys.values()].filter((history) => history.gate(now)?.circuitOpen === true).length;
  }

  /** It is configured no more. */
  forget(digest: string): void {
    const server = this.servers.get(digest);
    if (server !== undefined) server.forgotten = true;
  }

  /** What lies back further than it matters goes, or the maps would grow with every key ever seen. */
  prune(now: number): void {
    for (const [key, history] of this.keys) if (history.isOver(now)) this.keys.delete(key);
    for (const [digest, { forgotten, starting }] of this.servers) {
      if (forgotten && starting === 0) this.servers.delete(digest);
    }
  }

  private server(digest: string): ServerHealth {
    const known = this.servers.get(digest) ?? {
      failures: new CrashHistory(),
      starting: 0,
      proven: false,
      forgotten: false,
    };
    this.servers.set(digest, known);
    return known;
  }
}
