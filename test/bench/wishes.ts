// What the bench asks of its load process and what it gets back; plain data, it crosses a process boundary.

export interface LoadWish {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** On top of these, one of each connection in turn: a session of its own. */
  readonly each?: readonly Readonly<Record<string, string>>[];
  readonly meta: Readonly<Record<string, unknown>> | null;
  readonly tool: string;
  /** Characters of the text that is echoed. */
  readonly payload: number;
  readonly concurrency: number;
  readonly durationMs: number;
  /** Calls each connection makes even when the time is over. */
  readonly atLeast: number;
}

export interface LoadResult {
  readonly calls: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}
