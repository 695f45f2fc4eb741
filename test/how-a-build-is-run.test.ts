// `npm run build` makes `dist` of every workspace. Does the command that the README gives run what was built, and nothing else?

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const [flag = '', ...mains] = [
  ...(/node (--conditions=\S+) services\/\S+/.exec(readFileSync(`${ROOT}README.md`, 'utf8'))?.slice(1) ?? []),
  ...['gateway', 'pool-manager', 'standalone'],
];

/** What a workspace finds under the name of a file of another, in a process with these options. */
function found(specifier: string, ...options: string[]): string {
  const code = `console.log(import.meta.resolve(${JSON.stringify(specifier)}))`;
  const args = [...options, '--input-type=module', '--eval', code];
  return execFileSync(process.execPath, args, { cwd: `${ROOT}services/standalone`, encoding: 'utf8' }).trim();
}

for (const [service, file] of [
  ['protocol', 'json/scan'],
  ['state', 'config/load'],
  ['gateway', 'app'],
  ['pool-manager', 'app'],
] as const) {
  test(`${service} is found in its dist with the flag of the README, and in its source without`, () => {
    assert.match(flag, /^--conditions=/);
    assert.ok(found(`@lockkeeper/${service}/${file}`, flag).endsWith(`/${service}/dist/${file}.js`));
    assert.ok(found(`@lockkeeper/${service}/${file}`).endsWith(`/${service}/src/${file}.ts`));
    assert.ok(existsSync(`${ROOT}services/${service}/src/${file}.ts`));
  });
}

test('each service that is started has a main that is compiled', () => {
  const compiled = globSync('services/*/src/main.ts', { cwd: ROOT }).map((path) => path.split('/')[1]);
  assert.deepEqual(compiled.sort(), mains);
});
