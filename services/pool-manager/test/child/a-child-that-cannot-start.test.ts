// GB-019, GB-018, GB-025: what cannot start says why, and nobody else notices.

import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { spawnFaultWords } from '../../src/child/command.ts';
import { exitReason } from '../../src/child/end/exit-reason.ts';
import { fixture, serverSpec, start, testSpawn } from './started.ts';

const dir = mkdtempSync(join(tmpdir(), 'lockkeeper-test-'));
after(() => rmSync(dir, { recursive: true }));

function file(name: string, text: string, mode: number): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

describe('a child that cannot start', () => {
  const cases: readonly [string, Parameters<typeof serverSpec>[0], RegExp][] = [
    [
      'GB-019 a: a command that is nowhere',
      { command: 'no-such-command-foo' },
      /^command not found: no-such-command-foo$/,
    ],
    ['a path that is nowhere', { command: './nowhere' }, /^command not found: \.\/nowhere$/],
    ['a bad working directory', { cwd: '/no/such/place' }, /^working directory not found: \/no\/such\/place$/],
    ['a directory', { command: dir }, /^not a program but a directory: /],
    ['an empty command', { command: '' }, /^the command is empty$/],
    ['a NUL in an argument', { args: ['a\0b'] }, /could not be executed \(ERR_INVALID_ARG_VALUE\)$/],
    ['arguments without end', { args: ['x'.repeat(3_000_000)] }, /^its arguments and environment are too long$/],
  ];
  for (const [name, stdio, words] of cases) {
    it(`${name}: says so, asynchronously and once`, async () => {
      const started = start(serverSpec(stdio));
      assert.equal(started.exits.length, 0);
      const reason = await started.exit();
      assert.equal(reason.kind, 'spawn-failed');
      assert.match(reason.words, words);
      assert.equal(started.child.send(Buffer.from('{}')), false);
      await started.child.stop('test');
      assert.equal(started.exits.length, 1);
    });
  }

  it('GB-019 b: a file without the execute bit is a permission fault', async () => {
    const reason = await start(serverSpec({ command: file('plain', '#!/bin/sh\n', 0o644) })).exit();
    assert.match(reason.words, /^permission denied: .*plain is not executable$/);
  });

  it('a script whose interpreter is missing says so, not "exited with 127"', async () => {
    const reason = await start(serverSpec({ command: file('broken', '#!/no/such/interpreter\n', 0o755) })).exit();
    assert.equal(reason.kind, 'spawn-failed');
  });

  it('GB-019: a private directory that cannot be made is a fault of that child only', async () => {
    const spawn = testSpawn({ host: { path: process.env.PATH!, tmpDir: join(dir, 'nowhere') } });
    const reason = await start(fixture('echo-legacy'), spawn).exit();
    assert.match(reason.words, /^no private directory could be made \(ENOENT\)$/);
  });

  it('GB-019: while children fail to start, another goes on answering', async () => {
    const good = start(fixture('echo-legacy'));
    const bad = Array.from({ length: 10 }, () => start(serverSpec({ command: 'no-such-command-foo' })));
    for (let i = 0; i < 10; i++) assert.equal(await good.call('echo', { text: `${i}` }), `${i}`);
    for (const one of bad) await one.exit();
    await good.child.stop('test');
  });

  it('GB-018: a crash at start gives the code, and the words only to the operator', async () => {
    const started = start(fixture('crashes-on-start'));
    const reason = await started.exit();
    assert.deepEqual([reason.kind, reason.code, reason.words], ['exited', 1, 'exited with code 1 before it answered']);
    assert.match(started.child.stderrTail(), /boom: cannot find module/);
  });

  it('GB-025: exit 0 right after the start is "before it answered" too; stdin stays open meanwhile', async () => {
    const reason = await start(fixture('crashes-on-start', { EXIT_CODE: '0' })).exit();
    assert.equal(reason.words, 'exited with code 0 before it answered');
    const idle = start(fixture('silent'));
    const talking = start(fixture('echo-legacy'));
    await talking.call('echo', { text: 'a' });
    assert.equal(idle.child.exited, null);
    await Promise.all([idle.child.stop('test'), talking.child.stop('test')]);
  });

  it('leaves no private directory behind', async () => {
    const tmpDir = mkdtempSync(join(dir, 'homes-'));
    const spawn = testSpawn({ host: { path: process.env.PATH!, tmpDir } });
    const started = [
      start(fixture('crashes-on-start'), spawn),
      start(serverSpec({ args: ['a\0b'] }), spawn),
      start(serverSpec({ command: 'nowhere' }), spawn),
    ];
    await Promise.all(started.map((one) => one.child.stop('test')));
    assert.deepEqual(readdirSync(tmpDir), []);
  });
});

describe('the words for a fault of the system', () => {
  const cases: readonly [string | undefined, string][] = [
    ['ENOENT', 'command not found: foo'],
    ['EACCES', 'permission denied: foo'],
    ['EAGAIN', 'the limit on the number of processes is reached'],
    ['EMFILE', 'the limit on open files is reached'],
    ['ENOMEM', 'there is not enough memory to start a process'],
    [undefined, 'foo could not be executed (unknown reason)'],
  ];
  for (const [code, words] of cases) it(`${code}: ${words}`, () => assert.equal(spawnFaultWords(code, 'foo'), words));
});

describe('the reason of an exit', () => {
  const end = { code: null, signal: null, stopWords: null, answered: true, tail: '' };
  const tail = 'setpriv: failed to execute /x/y: No such file or directory\n';
  const cases: readonly [string, Parameters<typeof exitReason>, string, string][] = [
    ['its own', [{ ...end, code: 3 }, false], 'exited', 'exited with code 3'],
    ['a signal', [{ ...end, signal: 'SIGSEGV' }, false], 'killed', 'was killed by SIGSEGV'],
    ['the OOM killer', [{ ...end, signal: 'SIGKILL' }, false], 'killed', 'was killed by SIGKILL (out of memory?)'],
    ['ours', [{ ...end, signal: 'SIGKILL', stopWords: 'idle' }, false], 'stopped', 'idle'],
    [
      'the wrapper’s',
      [{ ...end, code: 127, tail }, true],
      'spawn-failed',
      'it could not be executed: No such file or directory (is the interpreter named in its first line installed?)',
    ],
    ['not the wrapper’s', [{ ...end, code: 127, tail }, false], 'exited', 'exited with code 127'],
  ];
  for (const [name, args, kind, words] of cases) {
    it(`${name}: ${words}`, () => {
      const reason = exitReason(...args);
      assert.deepEqual([reason.kind, reason.words], [kind, words]);
    });
  }
});
