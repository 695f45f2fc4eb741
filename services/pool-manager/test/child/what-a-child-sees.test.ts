// auth-security I-10, I-11, T-64: the environment, directory, descriptors and group of a child.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { fixture, serverSpec, start } from './started.ts';

interface Seen {
  readonly env: Record<string, string>;
  readonly cwd: string;
  readonly argv: string[];
  readonly pid: number;
  readonly pgid: number;
}

describe('what a child sees', () => {
  it('I-10: a few variables of ours and those of its spec, nothing inherited', async () => {
    for (const name of [
      'NODE_OPTIONS',
      'LD_LIBRARY_PATH',
      'HTTP_PROXY',
      'KUBERNETES_SERVICE_HOST',
      'SSH_AUTH_SOCK',
      'SECRET',
    ])
      process.env[name] ??= '';
    const started = start(fixture('prints-env', { FOO: 'bar', LANG: 'de_DE.UTF-8' }));
    const seen = JSON.parse(await started.call('env')) as Seen;
    assert.deepEqual(Object.keys(seen.env).sort(), ['FOO', 'HOME', 'LANG', 'LOCKKEEPER_CHILD', 'PATH', 'TMPDIR', 'TZ']);
    assert.equal(seen.env.FOO, 'bar');
    assert.equal(seen.env.LANG, 'de_DE.UTF-8');
    assert.equal(seen.env.HOME, seen.env.TMPDIR);
    assert.ok(existsSync(seen.env.HOME!));
    await started.child.stop('test');
    assert.equal(existsSync(seen.env.HOME!), false);
  });

  it('I-11: a process group of its own, led by the very process we know', async () => {
    const started = start(fixture('prints-env'));
    const seen = JSON.parse(await started.call('env')) as Seen;
    assert.deepEqual([seen.pgid, seen.pid], [seen.pid, started.child.pid]);
    await started.child.stop('test');
  });

  it('I-11: descriptors 0 to 2, and none that we opened', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'lockkeeper-test-'));
    const ours = openSync(join(dir, 'secret'), 'w');
    const number = '$' + '{f##*/}';
    const look = `[ "$f" -ef ${dir}/secret ] && echo '{"leak":true}'; echo "{\\"fd\\":${number}}"`;
    const script = `for f in /proc/$$/fd/*; do ${look}; done`;
    const started = start(serverSpec({ command: '/bin/sh', args: ['-c', script] }));
    await started.exit();
    // What whoever started this test left open for everybody is not ours to close: any other child has it too.
    const other = spawnSync('/bin/sh', ['-c', script], { encoding: 'utf8' }).stdout.trim().split('\n');
    assert.deepEqual(started.lines.toSorted(), other.toSorted());
    assert.deepEqual(started.lines.slice(0, 3), ['{"fd":0}', '{"fd":1}', '{"fd":2}']);
    assert.ok(!started.lines.includes('{"leak":true}'));
    closeSync(ours);
    rmSync(dir, { recursive: true });
  });

  it('I-11: nor any that the pool manager was started with', () => {
    const dir = mkdtempSync(join(tmpdir(), 'lockkeeper-test-'));
    const lock = openSync(join(dir, 'lock'), 'w');
    const script = fileURLToPath(new URL('inherits.ts', import.meta.url));
    // Far from those that a program opens itself.
    const stdio = [...Array.from({ length: 60 }, (_, fd) => (fd === 1 ? 'pipe' : 'ignore')), lock] as const;
    const { stdout, stderr } = spawnSync(process.execPath, [script], { stdio: [...stdio], encoding: 'utf8' });
    const fds = JSON.parse(stdout.split('\n')[0] || JSON.stringify(stderr)) as number[];
    assert.ok(fds.includes(2) && !fds.includes(60), stdout);
    closeSync(lock);
    rmSync(dir, { recursive: true });
  });

  it('passes arguments as they are, without a shell', async () => {
    const args = ['-e', 'console.log(JSON.stringify({argv: process.argv.slice(1)}))', '$HOME; exit 1', '*', '--'];
    const started = start(serverSpec({ args }));
    await started.exit();
    assert.deepEqual(started.lines, ['{"argv":["$HOME; exit 1","*","--"]}']);
  });
});
