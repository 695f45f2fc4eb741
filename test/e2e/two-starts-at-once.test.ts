// Two people, or a person and a script, run `npm start` on a tree where nothing is installed yet (ops/dev/run.mjs).

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../harness/eventually.ts';

const OPS = fileURLToPath(new URL('../../ops/', import.meta.url));
let tree: string;

beforeEach(() => {
  tree = mkdtempSync(join(tmpdir(), 'lockkeeper-tree-'));
  mkdirSync(join(tree, 'ops/dev'), { recursive: true });
  for (const file of ['dev/run.mjs', 'node-options.json']) cpSync(join(OPS, file), join(tree, 'ops', file));
  writeFileSync(join(tree, 'program.mjs'), 'console.log("ran");');
  // Stands for npm: says that all is there before it is, as npm does.
  writeFileSync(
    join(tree, 'npm.mjs'),
    `import { appendFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
appendFileSync('log', 'installed\\n');
mkdirSync('node_modules/node/bin', { recursive: true });
writeFileSync('node_modules/.package-lock.json', '{}');
while (!existsSync('finish')) await new Promise((resolve) => setTimeout(resolve, 10));
symlinkSync(process.execPath, 'node_modules/node/bin/node');
`,
  );
});
afterEach(() => rmSync(tree, { recursive: true, force: true }));

interface Run {
  said(): string;
  readonly ended: Promise<number>;
}

/** Lets the stand-in for npm come to its end. */
function finish(): void {
  writeFileSync(join(tree, 'finish'), '');
}

function start(): Run {
  const env = { ...process.env, npm_execpath: join(tree, 'npm.mjs') };
  const args = [join(tree, 'ops/dev/run.mjs'), 'program.mjs'];
  const child = spawn(process.execPath, args, { cwd: tree, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const from of [child.stdout, child.stderr]) {
    from.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
    });
  }
  return { said: () => said, ended: once(child, 'close').then(([code]) => code as number) };
}

test('one installs, the others wait for it, and all run', async () => {
  const runs = [start(), start(), start()];
  const waiting = () => runs.filter(({ said }) => said().includes('waiting for it')).length;
  try {
    await eventually(() => waiting() === 2, { deadlineMs: 30_000 });
  } finally {
    finish();
  }
  for (const { said, ended } of runs) assert.deepEqual([await ended, /^ran$/m.test(said())], [0, true], said());
  assert.equal(readFileSync(join(tree, 'log'), 'utf8'), 'installed\n');
  assert.equal(existsSync(join(tree, '.install.lock')), false);
});

test('an install that was killed stands in nobody’s way', async () => {
  writeFileSync(join(tree, '.install.lock'), '99999999');
  finish();
  const { said, ended } = start();
  assert.equal(await ended, 0, said());
  assert.equal(existsSync(join(tree, '.install.lock')), false);
});
