// auth-security I-11, §3.4: limits of the kernel, a user of its own, no new rights, a directory of its own, by the spec.

import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { StdioSpec } from '@lockkeeper/protocol/config/settings';
import { eventually } from '../../../../test/harness/eventually.ts';
import { createWrapper } from '../../src/child/wrapper.ts';
import { alive, fixture, SERVERS, serverSpec, start, testSpawn } from './started.ts';

interface Self {
  readonly uid: number;
  readonly gid: number;
  readonly groups: number[];
  readonly noNewPrivs: string;
  readonly limits: Record<string, string>;
  readonly cwd: string;
  readonly home: string;
}

const greedy = (stdio: Partial<StdioSpec> = {}) => serverSpec({ args: [`${SERVERS}greedy.mjs`], ...stdio });
const selfOf = async (started: ReturnType<typeof start>) => JSON.parse(await started.call('self')) as Self;

describe('what a child is held to', () => {
  it('the limits that its spec states, and no others', async () => {
    const started = start(
      greedy({ limits: { openFiles: 77, processes: 4000, fileSizeMb: 3, cpuSeconds: 600, addressSpaceMb: 500_000 } }),
    );
    const { limits } = await selfOf(started);
    assert.equal(limits['Max open files'], '77');
    assert.equal(limits['Max processes'], '4000');
    assert.equal(limits['Max file size'], String(3 * 1024 * 1024));
    assert.equal(limits['Max cpu time'], '600');
    assert.equal(limits['Max address space'], String(500_000 * 1024 * 1024));
    const free = start(greedy());
    assert.notEqual((await selfOf(free)).limits['Max cpu time'], '600');
  });

  it('one that uses up its processor time is killed, and the reason says which setting that was', async () => {
    const started = start(greedy({ limits: { cpuSeconds: 1 } }));
    await started.call('spin');
    const reason = await started.exit();
    assert.equal(reason.words, 'was killed by SIGXCPU (its stdio.limits.cpuSeconds are used up)');
  });

  it('it gains no rights by what it executes, whoever it is', async () => {
    assert.equal((await selfOf(start(greedy()))).noNewPrivs, '1');
  });

  it('`cwd: "~"` is a private directory that goes with it', async () => {
    const started = start(greedy({ cwd: '~' }));
    const { cwd, home } = await selfOf(started);
    assert.equal(cwd, home);
    assert.equal(statSync(home).mode & 0o777, 0o700);
    await started.child.stop('test');
    assert.equal(existsSync(home), false);
  });
});

describe('a child with a user of its own', () => {
  const root = process.geteuid?.() === 0;

  it('is that user and nobody else, in a directory that is its own; or is not started at all', async () => {
    const started = start(greedy({ uid: 54_321, gid: 54_322, cwd: '~', args: [`${SERVERS}greedy.mjs`] }));
    if (!root) {
      assert.equal((await started.exit()).words, 'stdio.uid needs a pool manager that runs as root');
      return;
    }
    const self = await selfOf(started);
    assert.deepEqual([self.uid, self.gid, self.groups], [54_321, 54_322, [54_322]]);
    assert.deepEqual([statSync(self.home).uid, statSync(self.home).gid], [54_321, 54_322]);
    const { pid } = started.child;
    await started.child.stop('test');
    assert.equal(alive(pid!), false);
    assert.equal(existsSync(self.home), false);
  });
});

describe('what cannot be done is not left out silently', () => {
  const tools = { prlimit: '/bin/prlimit', setpriv: '/bin/setpriv', isRoot: true };
  const cases: readonly [string, Partial<typeof tools> | Record<string, null>, Partial<StdioSpec>, RegExp][] = [
    ['limits without prlimit', { prlimit: null }, { limits: { openFiles: 9 } }, /stdio\.limits needs prlimit/],
    ['a user without setpriv', { setpriv: null }, { uid: 5 }, /stdio\.uid needs setpriv/],
    ['a user without root', { isRoot: false }, { uid: 5 }, /stdio\.uid needs a pool manager that runs as root/],
  ];
  for (const [name, missing, stdio, words] of cases) {
    it(name, () => {
      const got = createWrapper({ ...tools, ...(missing as object) }).around(stdio);
      assert.equal(got.kind, 'no');
      assert.match(got.words as string, words);
    });
  }

  it('and the child is not started, with those words', async () => {
    const spawn = testSpawn({ tools: { prlimit: null, setpriv: null, isRoot: false } });
    const started = start(greedy({ limits: { openFiles: 99 } }), spawn);
    assert.deepEqual(
      [(await started.exit()).kind, started.child.exited?.words],
      ['spawn-failed', 'stdio.limits needs prlimit (util-linux), which is not here'],
    );
  });

  it('a limit that the system refuses is a failed start, not a server without it', async () => {
    // More than the kernel allows to anybody.
    const started = start(greedy({ limits: { openFiles: 2_000_000_000 } }));
    const reason = await started.exit();
    assert.equal(reason.kind, 'spawn-failed');
    assert.match(reason.words, /stdio\.limits\) could not be set/);
  });

  it('without any of the tools a plain server runs all the same', async () => {
    const spawn = testSpawn({ tools: { prlimit: null, setpriv: null, isRoot: false } });
    const started = start(fixture('echo-legacy'), spawn);
    assert.equal(await started.call('echo', { text: 'a' }), 'a');
    await started.child.stop('test');
    await eventually(() => started.child.exited !== null);
  });
});
