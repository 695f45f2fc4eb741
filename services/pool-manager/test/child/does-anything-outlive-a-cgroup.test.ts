// A cgroup for each child, where the system lends them: offspring that has hidden from every other search ends, too. On a
// machine without, it is proved that there are none, and that who asked for them is told.

import assert from 'node:assert/strict';
import { spawn as spawnProcess } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { openCgroups } from '../../src/child/end/cgroup.ts';
import { alive, fixture, serverSpec, start, testSpawn } from './started.ts';

/** Where this user may make cgroups; null: nowhere. */
function lentDirectory(): string | null {
  const mount = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .find((line) => line.includes(' - cgroup2 '));
  if (mount === undefined) return null;
  const trial = join(mount.split(' ')[4]!, `lockkeeper-trial-${process.pid}`);
  try {
    mkdirSync(trial);
    rmdirSync(trial);
    return mount.split(' ')[4]!;
  } catch {
    return null;
  }
}

const lent = lentDirectory();
const self = `${process.pid}.0`;
const nobody = () => false;

/** Out of its session, without the mark, its parent gone: only its cgroup knows whose it is. */
const HIDES = `env -i /usr/bin/setsid /bin/sh -c 'sleep 1000' </dev/null >/dev/null 2>&1 & echo "{\\"pid\\":$!}"; read x`;

describe('a child in a cgroup', { concurrency: false }, () => {
  it('ends with everything it has started, and leaves no cgroup', async () => {
    const cgroups = lent === null ? openCgroups('auto', self, nobody) : openCgroups(lent, self, nobody);
    if (lent === null) {
      assert.equal(cgroups, null);
      return;
    }
    const started = start(serverSpec({ command: '/bin/sh', args: ['-c', HIDES] }), testSpawn({ cgroups }));
    await eventually(() => started.lines.length > 0);
    const { pid } = JSON.parse(started.lines[0]!) as { pid: number };
    await eventually(() => assert.ok(!readFileSync(`/proc/${pid}/environ`, 'utf8').includes('LOCKKEEPER')));
    assert.match(readFileSync(`/proc/${pid}/cgroup`, 'utf8'), new RegExp(`^0::.*/lockkeeper-${self}/`, 'm'));
    await started.child.stop('test');
    await eventually(() => assert.ok(!alive(pid)));
    await cgroups!.close();
    assert.equal(existsSync(join(lent, `lockkeeper-${self}`)), false);
  });

  it('what a manager that is no more has left is ended by the next one', async () => {
    if (lent === null) {
      assert.equal(openCgroups('auto', self, nobody), null);
      return;
    }
    const left = join(lent, 'lockkeeper-1.1');
    mkdirSync(join(left, 'one'), { recursive: true });
    const orphan = spawnProcess('sleep', ['1000'], { stdio: 'ignore' });
    writeFileSync(join(left, 'one', 'cgroup.procs'), String(orphan.pid));
    const cgroups = openCgroups(lent, self, (name) => name === '1.1');
    await eventually(() => assert.ok(orphan.signalCode === 'SIGKILL' && !existsSync(left)));
    await cgroups!.close();
  });

  it('who names a directory that is no cgroup of his is told at the start', () => {
    assert.throws(() => openCgroups('/no/such/cgroup', self, nobody), /children\.cgroup: \/no\/such\/cgroup .*ENOENT/);
    assert.equal(openCgroups('off', self, nobody), null);
  });

  it('a child that cannot be put into one lives all the same', async () => {
    const started = start(fixture('echo-legacy'), testSpawn({ cgroups: { make: () => null, close: async () => {} } }));
    assert.equal(await started.call('echo', { text: 'a' }), 'a');
    await started.child.stop('test');
  });
});
