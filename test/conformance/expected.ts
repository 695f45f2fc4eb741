// The expected-failures files, one a fixture and revision: a list of scenarios that do not pass yet, each with its reason.
// A failure that is not listed fails the run, and so does a listed scenario that passes.

import { existsSync, readFileSync } from 'node:fs';
import type { Revision, ScenarioResult } from './suite.ts';

const LINE = /^- (\S+)\s+# (.+)$/;

export function readExpected(fixture: string, revision: Revision): ReadonlyMap<string, string> {
  const file = new URL(`./expected/${fixture}-${revision}.yml`, import.meta.url);
  const expected = new Map<string, string>();
  if (!existsSync(file)) return expected;
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    if (line === '' || line.startsWith('#') || line === 'server:' || line === 'client:') continue;
    const match = LINE.exec(line.trim());
    if (!match) throw new Error(`${file.pathname}:${index + 1}: want "- scenario  # reason"`);
    expected.set(match[1]!, match[2]!);
  }
  return expected;
}

export interface Surprises {
  readonly failed: readonly ScenarioResult[];
  readonly passed: readonly string[];
  readonly unknown: readonly string[];
}

export function surprises(results: readonly ScenarioResult[], expected: ReadonlyMap<string, string>): Surprises {
  return {
    failed: results.filter(({ name, verdict }) => verdict !== 'pass' && !expected.has(name)),
    passed: results.filter(({ name, verdict }) => verdict === 'pass' && expected.has(name)).map(({ name }) => name),
    unknown: [...expected.keys()].filter((name) => !results.some((result) => result.name === name)),
  };
}
