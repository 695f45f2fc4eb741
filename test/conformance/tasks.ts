// The scenarios of the tasks extension, which no requirements file asks for: each run by its name against a fixture that
// has their tools. `modern` makes tasks itself; `plain` and `legacy` are SDK v1 servers whose calls become tasks behind
// Lockkeeper, by promotion and from tasks of 2025-11-25.

import { fileURLToPath } from 'node:url';
import { startStandalone, warm } from '../harness/lockkeeper.ts';
import { callModern } from '../harness/messages.ts';
import { readExpected, surprises } from './expected.ts';
import { runScenario, type ScenarioResult } from './suite.ts';

export const TASK_FIXTURES = ['tasks', 'tasks-plain', 'tasks-legacy'] as const;
export type TaskFixture = (typeof TASK_FIXTURES)[number];

const SCENARIOS = [
  'capability-negotiation',
  'dispatch-and-envelope',
  'lifecycle',
  'mrtr-composition',
  'mrtr-input',
  'request-headers',
  'request-state-removal',
  'required-task-error',
  'status-notifications',
  'wire-fields',
].map((name) => `tasks-${name}`);

/** Less than the tools' own pause, so that a plain call of theirs becomes a task. */
const PROMOTE_MS = 150;

interface Outcome {
  readonly fixture: TaskFixture;
  readonly results: readonly ScenarioResult[];
}

async function runFixture(fixture: TaskFixture, url: string): Promise<Outcome> {
  await warm(async () => {
    const { status, message } = await callModern(url, { method: 'tools/list' });
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(message)}`);
  });
  const results: ScenarioResult[] = [];
  for (const name of SCENARIOS) results.push(await runScenario(url, '2026-07-28', name));
  return { fixture, results };
}

/** True when nothing surprises. */
export async function runTasks(fixtures: readonly TaskFixture[]): Promise<boolean> {
  if (fixtures.length === 0) return true;
  const servers = fixtures.map((name) => ({
    name,
    args: [fileURLToPath(new URL(`./fixtures/${name}.ts`, import.meta.url))],
  }));
  const lockkeeper = await startStandalone({ servers, limits: { promoteAfterMs: PROMOTE_MS } });
  try {
    const cells = fixtures.map((fixture) => runFixture(fixture, lockkeeper.route(`/acme/${fixture}/mcp`)));
    return (await Promise.all(cells)).map(report).every(Boolean);
  } finally {
    await lockkeeper.stop();
  }
}

function report({ fixture, results }: Outcome): boolean {
  const expected = readExpected(fixture, '2026-07-28');
  const passing = results.filter(({ verdict }) => verdict === 'pass').length;
  console.log(`${fixture.padEnd(20)}  ${passing}/${results.length} tasks      ${expected.size} expected to fail`);
  const { failed, passed, unknown } = surprises(results, expected);
  for (const { name, verdict, complaints } of failed) {
    console.log(`  ✗ ${name} (${verdict})\n      ${complaints.join('\n      ')}`);
  }
  for (const name of passed) console.log(`  ✓ ${name} passes: take it out of expected/${fixture}-2026-07-28.yml`);
  for (const name of unknown) console.log(`  ? ${name} is expected to fail but was not run`);
  return failed.length + passed.length + unknown.length === 0;
}
