// Runs the official suite's command once for one URL and revision and reads what it left behind. The suite's own summary
// is not believed: it counts checks, and some succeed against a closed port (conformance.md §3).

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type Revision = '2025-11-25' | '2026-07-28';

export interface Check {
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

export type Verdict = 'pass' | 'hollow' | 'fail';

export interface ScenarioResult {
  readonly name: string;
  readonly verdict: Verdict;
  readonly complaints: readonly string[];
}

const PACKAGE = fileURLToPath(new URL('../../node_modules/@modelcontextprotocol/conformance/', import.meta.url));

export const SUITE = join(PACKAGE, 'dist/index.js');

/** The only check a scenario gets without doing anything: it also succeeds when nobody but the suite has spoken. */
const NOT_ITS_OWN = 'wire-schema-valid';

export function judge(name: string, checks: readonly Check[] | null): ScenarioResult {
  if (!checks) return { name, verdict: 'fail', complaints: ['it left no checks'] };
  const complaints = checks
    .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
    .map(({ id, status, errorMessage }) => `${status} ${id}: ${errorMessage ?? ''}`);
  if (checks.some(({ status }) => status === 'FAILURE')) return { name, verdict: 'fail', complaints };
  const own = checks.some(({ id, status }) => status === 'SUCCESS' && id !== NOT_ITS_OWN);
  return { name, verdict: own ? 'pass' : 'hollow', complaints };
}

/** Scenario names of a revision's requirements file: `server:` are required, `not_scored` ones of the server leg run, too. */
export function requirements(revision: Revision): {
  readonly required: readonly string[];
  readonly extra: readonly string[];
} {
  const text = readFileSync(join(PACKAGE, 'requirements', `${revision}.yaml`), 'utf8');
  const section = (name: string) => new RegExp(`^${name}:\\n((?:[ #].*\\n?|\\n)*)`, 'm').exec(text)?.[1] ?? '';
  const required = [...section('server').matchAll(/^ {2}- (\S+)$/gm)].map((match) => match[1]!);
  const unscored = section('not_scored').matchAll(/- scenario: (\S+)\n\s+leg: server/g);
  return { required, extra: [...unscored].map((match) => match[1]!) };
}

function readChecks(folder: string, scenario: string): readonly Check[] | null {
  const found = readdirSync(folder).find((name) => new RegExp(`^server-${scenario}-\\d{4}-\\d{2}-\\d{2}T`).test(name));
  const file = found === undefined ? null : join(folder, found, 'checks.json');
  return file !== null && existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Check[]) : null;
}

/** One scenario by its name, whether or not the revision requires it. */
export async function runScenario(url: string, revision: Revision, name: string): Promise<ScenarioResult> {
  const wish = ['--scenario', name, '--spec-version', revision, '--force'];
  return run(url, wish, (folder) => judge(name, readChecks(folder, name)));
}

/** All scenarios of the revision, required and extra, in the order of the requirements file. */
export async function runSuite(url: string, revision: Revision): Promise<readonly ScenarioResult[]> {
  return run(url, ['--requirements', revision], (folder) => {
    const { required, extra } = requirements(revision);
    return [...required, ...extra].map((name) => judge(name, readChecks(folder, name)));
  });
}

/** Its exit code tells only of scored failures; ours is computed from the checks it leaves. */
async function run<T>(url: string, wish: readonly string[], read: (folder: string) => T): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-conformance-'));
  const args = [SUITE, 'server', '--url', url, ...wish, '-o', folder];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), 180_000);
  try {
    await once(child, 'exit');
    return read(folder);
  } finally {
    clearTimeout(timer);
    rmSync(folder, { recursive: true, force: true });
  }
}
