// `npm run test:conformance`: the official suite against each fixture behind Lockkeeper, both revisions, counted strictly;
// then its mock servers behind Lockkeeper. `--direct` measures fixtures and clients alone; `--only dual,2026-07-28` narrows,
// `--only client` or `--only client:sse-retry` to the mocks; `--verbose` prints every complaint.

import { parseArgs } from 'node:util';
import { runClientLeg } from './client-leg.ts';
import { readExpected, surprises } from './expected.ts';
import { requirements, runSuite, type ScenarioResult } from './suite.ts';
import { type Cell, direct, FIXTURES, REVISIONS, type Targets, throughLockkeeper } from './targets.ts';
import { runTasks, TASK_FIXTURES } from './tasks.ts';

const { values: flags } = parseArgs({
  options: {
    direct: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
});

/** Of the tasks extension: these fixtures lack their tools; tasks.ts runs them against those that have them. */
const LEFT_OUT = /^tasks-/;

interface Outcome {
  readonly cell: Cell;
  readonly results: readonly ScenarioResult[];
}

function chosen(): readonly Omit<Cell, 'url'>[] {
  const only = flags.only === '' ? [] : flags.only.split(',');
  const wants = (word: string, all: readonly string[]) => !only.some((w) => all.includes(w)) || only.includes(word);
  return FIXTURES.flatMap((fixture) =>
    REVISIONS.filter((revision) => wants(fixture, FIXTURES) && wants(revision, REVISIONS)).map((revision) => ({
      fixture,
      revision,
    })),
  );
}

/** Two at a time: the machines this runs on have two cores and the suite has fixed timers. */
async function runAll(cells: readonly Cell[]): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const queue = [...cells];
  const work = async () => {
    for (let cell = queue.shift(); cell; cell = queue.shift()) {
      const results = await runSuite(cell.url, cell.revision);
      outcomes.push({ cell, results: results.filter(({ name }) => !LEFT_OUT.test(name)) });
    }
  };
  await Promise.all([work(), work()]);
  return cells.map((cell) => outcomes.find((outcome) => outcome.cell === cell)!);
}

function report({ cell, results }: Outcome): boolean {
  const { required } = requirements(cell.revision);
  const expected = flags.direct ? new Map<string, string>() : readExpected(cell.fixture, cell.revision);
  const passing = (names: readonly string[]) =>
    results.filter(({ name, verdict }) => names.includes(name) && verdict === 'pass').length;
  const extra = results.filter(({ name }) => !required.includes(name));
  const extras = extra.map(({ name, verdict }) => `${name} ${verdict}`).join(', ');
  const title = `${cell.fixture} × ${cell.revision}`.padEnd(20);
  console.log(
    `${title}  ${passing(required)}/${required.length} required   ${expected.size} expected to fail   ${extras}`,
  );
  const { failed, passed, unknown } = surprises(results, expected);
  const bad = failed.filter(({ name }) => !flags.direct || required.includes(name));
  for (const { name, verdict, complaints } of bad) {
    console.log(`  ✗ ${name} (${verdict})`);
    for (const complaint of complaints) console.log(`      ${complaint}`);
  }
  for (const name of passed)
    console.log(`  ✓ ${name} passes: take it out of expected/${cell.fixture}-${cell.revision}.yml`);
  for (const name of unknown) console.log(`  ? ${name} is expected to fail but was not run`);
  if (flags.verbose) {
    for (const { name, verdict, complaints } of results) {
      if (complaints.length > 0 && !bad.some((one) => one.name === name)) {
        console.log(`  · ${name} (${verdict})\n      ${complaints.join('\n      ')}`);
      }
    }
  }
  return bad.length + passed.length + unknown.length === 0;
}

/** `--only tasks` and the like; with another narrowing none. */
const taskFixtures = flags.direct
  ? []
  : TASK_FIXTURES.filter((name) => flags.only === '' || flags.only.split(',').includes(name));
const onlyTasks = taskFixtures.length > 0 && flags.only !== '';
/** `client` or `client:scenario`. */
const clientWish = /^client(?::(.+))?$/.exec(flags.only);
const tasksGood = await runTasks(taskFixtures);
const wanted = onlyTasks || clientWish ? [] : chosen();
const nothing: Targets = { cells: [], stop: async () => {} };
const targets = wanted.length === 0 ? nothing : await (flags.direct ? direct : throughLockkeeper)(wanted);
try {
  const outcomes = await runAll(targets.cells);
  const good = outcomes.map(report);
  process.exitCode = tasksGood && good.every(Boolean) ? 0 : 1;
} finally {
  await targets.stop();
}
if (flags.only === '' || clientWish) {
  const scenario = clientWish?.[1];
  const clientGood = await runClientLeg({ direct: flags.direct, ...(scenario !== undefined && { only: scenario }) });
  if (!clientGood) process.exitCode = 1;
}
