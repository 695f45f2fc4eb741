// One row of the catalogue of refusals (errors.ts).

export type Blame = 'client' | 'operator' | 'upstream' | 'us';

export interface Row {
  readonly blame: Blame;
  readonly status: number;
  readonly code: number;
  /** In tools/call this becomes a tool result with isError (design §8). */
  readonly toolResult?: boolean;
  readonly retry: 'never' | 'later' | 'new-request';
  readonly words: string;
  /** What to do next; said after the words, also after a message of the raiser's own. */
  readonly next?: string;
}
