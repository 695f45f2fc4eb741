// The client leg: the suite's mock servers as upstreams of Lockkeeper, each scenario called through it by a client of either
// era (client-driver.ts). Which scenarios there are is read from the suite; one that is neither run nor left out for a
// reason fails the run.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readExpected, surprises } from './expected.ts';
import { type Check, judge, type Revision, type ScenarioResult, SUITE } from './suite.ts';

export const CLIENT_ERAS = ['modern', 'legacy'] as const;
export type ClientEra = (typeof CLIENT_ERAS)[number];

const BOTH = ['2025-11-25', '2026-07-28'] as const;

/** Each with the revisions at which the suite has it, in both of which it is run where there are two. */
export const APPLY: Readonly<Record<string, readonly Revision[]>> = {
  initialize: ['2025-11-25'],
  tools_call: BOTH,
  'elicitation-sep1034-client-defaults': ['2025-11-25'],
  'sse-retry': ['2025-11-25'],
  'request-metadata': ['2026-07-28'],
  'http-standard-headers': ['2026-07-28'],
  'http-custom-headers': ['2026-07-28'],
  'http-invalid-tool-headers': ['2026-07-28'],
  'sep-2322-client-request-state': ['2026-07-28'],
  'json-schema-ref-no-deref': ['2026-07-28'],
  'json-schema-2020-12-preservation': BOTH,
};

/** Not for a gateway, or not yet: the first that fits is the reason. */
export const LEFT_OUT: readonly (readonly [RegExp, string])[] = [
  [/^auth\/2025-03-26-/, 'how clients of 2025-03-26 found their issuer; an upstream’s issuer is named by the operator'],
  [/^auth\//, 'Lockkeeper signs in to no upstream for its users yet: it sends what the operator configured'],
  [/^sep-2640-client-/, 'skills are read and checked by the host; a gateway passes their resources on'],
];

/** In this pair the client would drop the bad tools itself and hide what Lockkeeper does. */
const HIDDEN = { name: 'http-invalid-tool-headers', client: 'modern' } as const;
/** Its tolerances are those of an idle machine. */
const ALONE = 'sse-retry';

export interface Run {
  readonly name: string;
  readonly revision: Revision;
  readonly client: ClientEra;
}

/** Names of all client scenarios that the suite knows. */
export function clientScenarios(): readonly string[] {
  const text = execFileSync(process.execPath, [SUITE, 'list', '--client'], { encoding: 'utf8' });
  return [...text.matchAll(/^ {2}- (\S+) \[/gm)].map(([, name]) => name!);
}

export function unplaced(names: readonly string[]): readonly string[] {
  return names.filter((name) => !(name in APPLY) && !LEFT_OUT.some(([pattern]) => pattern.test(name)));
}

export function runs(): readonly Run[] {
  return Object.entries(APPLY).flatMap(([name, revisions]) =>
    revisions.flatMap((revision) =>
      CLIENT_ERAS.filter((client) => name !== HIDDEN.name || client !== HIDDEN.client).map((client) => ({
        name,
        revision,
        client,
      })),
    ),
  );
}

/** As the suite judges this leg: a warning and an exit of the driver fail it, too. */
export function judgeClient(name: string, checks: readonly Check[] | null, code: number | null): ScenarioResult {
  const judged = judge(name, checks);
  const warned = checks?.some(({ status }) => status === 'WARNING') === true;
  if (judged.verdict !== 'pass' || (code === 0 && !warned)) return judged;
  return { name, verdict: 'fail', complaints: [...judged.complaints, `the suite ended with ${code}`] };
}

const DRIVER = 'test/conformance/client-driver.ts';
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const RUN_MS = 60_000;

async function runOne({ name, revision, client }: Run, direct: boolean): Promise<ScenarioResult> {
  const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-conformance-'));
  const wish = ['--scenario', name, '--spec-version', revision, '--command', `node ${DRIVER}`, '-o', folder];
  const path = [dirname(process.execPath), process.env.PATH ?? ''].join(delimiter);
  const child = spawn(process.execPath, [SUITE, 'client', ...wish], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'ignore'],
    env: { ...process.env, PATH: path, CLIENT_ERA: client, DIRECT: direct ? '1' : '' },
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), RUN_MS);
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    const [found] = readdirSync(folder);
    const read = (file: string) => (found === undefined ? '' : readFileSync(join(folder, found, file), 'utf8'));
    const text = read('checks.json');
    const result = judgeClient(name, text === '' ? null : (JSON.parse(text) as Check[]), code);
    if (result.verdict === 'pass') return result;
    return { ...result, complaints: [...result.complaints, ...read('stderr.txt').split('\n').slice(-12)] };
  } finally {
    clearTimeout(timer);
    rmSync(folder, { recursive: true, force: true });
  }
}

type Outcome = readonly [Run, ScenarioResult];

async function runAll(wanted: readonly Run[], direct: boolean): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const run of wanted.filter(({ name }) => name === ALONE)) outcomes.push([run, await runOne(run, direct)]);
  const queue = wanted.filter(({ name }) => name !== ALONE);
  const work = async () => {
    for (let run = queue.shift(); run; run = queue.shift()) outcomes.push([run, await runOne(run, direct)]);
  };
  await Promise.all([work(), work()]);
  return outcomes;
}

function report(revision: Revision, client: ClientEra, outcomes: readonly Outcome[]): boolean {
  const results = outcomes
    .filter(([run]) => run.revision === revision && run.client === client)
    .map(([, result]) => result);
  if (results.length === 0) return true;
  const expected = readExpected(`client-${client}`, revision);
  const passing = results.filter(({ verdict }) => verdict === 'pass').length;
  const title = `mock × ${revision}`.padEnd(20);
  console.log(
    `${title}  ${passing}/${results.length} client leg, ${client} client   ${expected.size} expected to fail`,
  );
  const { failed, passed, unknown } = surprises(results, expected);
  for (const { name, verdict, complaints } of failed) {
    console.log(`  ✗ ${name} (${verdict})\n      ${complaints.join('\n      ')}`);
  }
  for (const name of passed) {
    console.log(`  ✓ ${name} passes: take it out of expected/client-${client}-${revision}.yml`);
  }
  for (const name of unknown) console.log(`  ? ${name} is expected to fail but was not run`);
  return failed.length + passed.length + unknown.length === 0;
}

export interface LegWish {
  /** A scenario's name; default all. */
  readonly only?: string;
  /** The clients alone, each at servers of its own era. */
  readonly direct?: boolean;
}

const sameEra = ({ revision, client }: Run) => (revision === '2026-07-28') === (client === 'modern');

/** True when nothing surprises. */
export async function runClientLeg({ only, direct = false }: LegWish): Promise<boolean> {
  const lost = unplaced(clientScenarios());
  for (const name of lost) console.log(`  ? ${name} is a client scenario with neither a drive nor a reason`);
  const wanted = runs().filter((run) => (only === undefined || run.name === only) && (!direct || sameEra(run)));
  const outcomes = await runAll(wanted, direct);
  const good = BOTH.flatMap((revision) => CLIENT_ERAS.map((client) => report(revision, client, outcomes)));
  return lost.length === 0 && good.every(Boolean);
}
