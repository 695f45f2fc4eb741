// Why the pools end a process: a label for the numbers and words for people. What ends by itself is a crash, and has its
// own (child/contract.ts).

export type EndReason =
  | 'idle'
  | 'age'
  | 'uses'
  | 'tainted'
  | 'one-call'
  | 'room'
  | 'memory'
  | 'era'
  | 'reconfigured'
  | 'removed'
  | 'moved'
  | 'operator'
  | 'closing';

export interface End {
  readonly reason: EndReason;
  readonly words: string;
}

const WORDS = {
  idle: 'nobody used it (pool.idleMs)',
  age: 'it has reached its greatest age (pool.maxAgeMs)',
  uses: 'it has served its calls (pool.maxUses)',
  tainted: 'a call gave no sign of having ended',
  'one-call': 'one call, one process',
  room: 'another server needed its place',
  era: 'its sibling answers in another revision',
  reconfigured: 'its configuration has changed',
  removed: 'the server was taken out of the configuration',
  moved: 'another node serves this caller now',
  operator: 'the operator ended it',
  closing: 'the node is closing',
} as const satisfies Partial<Record<EndReason, string>>;

export function endOf(reason: keyof typeof WORDS): End {
  return { reason, words: WORDS[reason] };
}
