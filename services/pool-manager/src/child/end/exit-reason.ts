// Why a child is no more, in one sentence that completes "server X could not be started: …" or "server X …" (GB-018,
// GB-025). Never its own words: those are the operator's, in the tail of stderr.

import type { ExitCause, ExitReason } from '../contract.ts';

export interface End {
  readonly code: number | null;
  readonly signal: string | null;
  /** Why we ended it; null when it ended by itself. */
  readonly stopWords: string | null;
  /** Of that, where it has itself to blame. */
  readonly cause?: ExitCause | undefined;
  /** It sent at least one message. */
  readonly answered: boolean;
  readonly tail: string;
}

/** The wrapper's own words when the program could not be executed, after all checks (a missing interpreter, say). */
const NOT_EXECUTED = /^(?:setpriv|prlimit): failed to execute [^\n]*: ([A-Za-z ]+)$/m;
/** … and when it could not do what it was there for. */
const NOT_SET = /^(?:setpriv|prlimit): /;
const NOT_SET_WORDS = 'its user (stdio.uid) or its limits (stdio.limits) could not be set';

/** `wrapped`: started through setpriv or prlimit, whose exit codes 126 and 127 mean that the program was never run. */
export function exitReason(end: End, wrapped: boolean): ExitReason {
  const { code, signal, stopWords, cause, answered, tail } = end;
  if (stopWords !== null) return { kind: 'stopped', ...(cause && { cause }), code, signal, words: stopWords };
  if (signal !== null) {
    const hint = HINTS[signal] ?? '';
    return { kind: 'killed', cause: 'signal', code, signal, words: `was killed by ${signal}${hint}` };
  }
  const why = wrapped && (code === 126 || code === 127) ? NOT_EXECUTED.exec(tail)?.[1] : undefined;
  if (why !== undefined) {
    return { kind: 'spawn-failed', code, signal, words: `it could not be executed: ${why}${interpreterHint(why)}` };
  }
  if (wrapped && !answered && code === 1 && NOT_SET.test(tail)) {
    return { kind: 'spawn-failed', code, signal, words: NOT_SET_WORDS };
  }
  const words = `exited with code ${code}${answered ? '' : ' before it answered'}`;
  return { kind: 'exited', cause: 'exit', code, signal, words };
}

const HINTS: Readonly<Record<string, string>> = {
  SIGKILL: ' (out of memory?)',
  SIGXCPU: ' (its stdio.limits.cpuSeconds are used up)',
  SIGXFSZ: ' (a file became larger than its stdio.limits.fileSizeMb)',
};

function interpreterHint(why: string): string {
  return why === 'No such file or directory' ? ' (is the interpreter named in its first line installed?)' : '';
}
