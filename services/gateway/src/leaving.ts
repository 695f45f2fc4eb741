// Whether one client still wants its answer, as the walk needs to know it. It says what an AbortSignal says; Node's own
// costs an event target for every call, and nearly none of them is ever aborted.

import type { Seated } from '@lockkeeper/protocol/roster';

/** An AbortSignal is one. */
export interface Signal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', run: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', run: () => void): void;
}

export class Leaving implements Signal, Seated {
  seat = -1;
  private gone = false;
  private first: (() => void) | null = null;
  private more: (() => void)[] | null = null;

  get aborted(): boolean {
    return this.gone;
  }

  /** What listens is called once, `once` or not: nobody leaves twice. */
  addEventListener(_type: 'abort', run: () => void): void {
    if (this.gone) return;
    if (this.first === null) this.first = run;
    else {
      this.more ??= [];
      this.more.push(run);
    }
  }

  removeEventListener(_type: 'abort', run: () => void): void {
    if (this.first === run) this.first = null;
    else if (this.more !== null) this.more = this.more.filter((other) => other !== run);
  }

  abort(): void {
    if (this.gone) return;
    this.gone = true;
    const runs = [...(this.first === null ? [] : [this.first]), ...(this.more ?? [])];
    this.first = null;
    this.more = null;
    for (const run of runs) run();
  }
}
