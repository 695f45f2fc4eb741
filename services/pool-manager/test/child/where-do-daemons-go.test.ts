// GB-015: a daemon that has forked twice, left session and group and emptied its environment ends with the child that started
// it, without a cgroup; and nobody else does.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn as spawnProcess, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../../../test/harness/eventually.ts';
import { limitMarkOf, limitOf, managerLimit, managerOfLimit } from '../../src/child/end/limit-mark.ts';
import { processName, sweepOrphans } from '../../src/child/end/marks.ts';
import { findTools } from '../../src/child/wrapper.ts';
import { alive, fixture, start, testSpawn } from './started.ts';

const PATH = process.env.PATH ?? '/usr/bin:/bin';
const MANAGER = fileURLToPath(new URL('manager.ts', import.meta.url));
const begun: ChildProcess[] = [];

after(() => {
  for (const one of begun) one.kill('SIGKILL');
});

interface Family {
  readonly child: number;
  readonly grandchild: number;
}

async function manager(env: Record<string, string>, before: readonly string[] = []) {
  const [file, ...args] = [...before, process.execPath, MANAGER];
  const started = spawnProcess(file!, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
  begun.push(started);
  const [line] = (await started.stdout.take(1).toArray()) as [Buffer];
  return { process: started, ...(JSON.parse(line.toString()) as Family) };
}

async function withDaemon() {
  const started = start(fixture('starts-daemon'));
  const daemon = Number(await started.call('daemon'));
  const environment = readFileSync(`/proc/${daemon}/environ`, 'utf8');
  assert.ok(alive(daemon) && !environment.includes('LOCKKEEPER'), environment);
  const stat = readFileSync(`/proc/${daemon}/stat`, 'utf8');
  const [, parent, group, session] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  for (const its of [parent, group, session]) assert.notEqual(its, started.child.pid);
  return { started, daemon };
}

describe('a daemon without environment, session and parent', () => {
  it('ends when its child is stopped', async () => {
    const { started, daemon } = await withDaemon();
    await started.child.stop('idle too long');
    await eventually(() => !alive(daemon));
  });

  it('ends when its child crashes', async () => {
    const { started, daemon } = await withDaemon();
    process.kill(started.child.pid!, 'SIGKILL');
    await eventually(() => !alive(daemon));
  });

  it('does not end with another child', async () => {
    const { started, daemon } = await withDaemon();
    const { started: other, daemon: its } = await withDaemon();
    await other.child.stop('test');
    await eventually(() => !alive(its));
    assert.ok(alive(daemon));
    await started.child.stop('test');
    await eventually(() => !alive(daemon));
  });

  it('ends by the guard when the manager is killed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-guarded-'));
    try {
      const killed = await manager({ DAEMON: '1', GUARD: '1', TMPDIR: folder });
      assert.ok(alive(killed.child) && alive(killed.grandchild));
      killed.process.kill('SIGKILL');
      await eventually(() => !alive(killed.child) && !alive(killed.grandchild) && readdirSync(folder).length === 0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('ends by the next manager’s sweep, and only then', async () => {
    const { process: killed, child, grandchild } = await manager({ DAEMON: '1' });
    await sweepOrphans('/no/such/directory');
    assert.ok(alive(child) && alive(grandchild));
    killed.kill('SIGKILL');
    await eventually(() => !alive(killed.pid!));
    await sweepOrphans('/no/such/directory');
    await eventually(() => !alive(grandchild));
  });
});

describe('whose a process is', () => {
  it('the limit names child and manager, and no two children have the same', () => {
    const limits = [limitOf('4194303.1099511627775.a'), limitOf('4194303.1099511627775.b'), limitOf('1.0.a')];
    assert.equal(new Set(limits).size, 3);
    assert.deepEqual(
      limits.map((limit) => managerOfLimit(limit!)),
      ['4194303.1099511627775', '4194303.1099511627775', '1.0'],
    );
    for (const limit of limits) {
      const [soft, hard] = limit!.split(':').map(BigInt) as [bigint, bigint];
      assert.ok(soft <= hard && hard < 2n ** 63n);
    }
    assert.deepEqual(
      [managerLimit('self'), limitOf('4194304.1.a'), managerOfLimit('200000:200000')],
      [null, null, null],
    );
  });

  it('one that has no such limit is nobody’s', () => {
    assert.equal(limitMarkOf('self'), null);
    const limited = spawnProcess('prlimit', ['--rttime=200000:200000', '--', 'sleep', '1000'], { stdio: 'ignore' });
    begun.push(limited);
    assert.equal(limitMarkOf(limited.pid!), null);
  });

  it('a manager that is limited itself marks nobody and starts its servers all the same', async () => {
    assert.equal(findTools(PATH).marks, true);
    // Of somebody who lives, or the next manager to start on this machine would take them for orphans.
    const outer = limitOf(`${processName('self')}.outer`);
    const killed = await manager({ GUARD: '1' }, ['prlimit', `--rttime=${outer}`, '--']);
    assert.equal(limitMarkOf(killed.child), outer);
    killed.process.kill('SIGKILL');
    await eventually(() => !alive(killed.child) && !alive(killed.grandchild));
  });

  it('children of a living manager in a container are left alone by one outside', async () => {
    const user = process.geteuid?.() === 0 ? [] : ['--user', '--map-root-user'];
    const inside = ['unshare', ...user, '--pid', '--fork', '--kill-child', '--mount-proc'];
    // Where a system allows no containers, there is nobody to be left alone.
    if (spawnSync(inside[0]!, [...inside.slice(1), 'true']).status !== 0) {
      assert.equal(await sweepOrphans('/no/such/directory'), 0);
      return;
    }
    const contained = await manager({}, inside);
    const outside = readdirSync('/proc').filter((pid) => {
      try {
        return (
          /^NSpid:\s+\d+\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] === String(contained.child)
        );
      } catch {
        return false;
      }
    });
    assert.equal(outside.length, 1);
    await sweepOrphans('/no/such/directory');
    // Whom the first has killed is gone when the second has looked at everybody.
    await sweepOrphans('/no/such/directory');
    assert.match(readFileSync(`/proc/${outside[0]}/stat`, 'utf8'), /\) [RS] /);
    contained.process.kill('SIGKILL');
    await eventually(() => !alive(Number(outside[0])));
  });

  it('without prlimit nobody is marked, and servers run all the same', async () => {
    const plain = testSpawn({ tools: { prlimit: null, setpriv: null, isRoot: false } });
    const started = start(fixture('echo-legacy'), plain);
    assert.equal(await started.call('echo', { text: 'a' }), 'a');
    assert.equal(limitMarkOf(started.child.pid!), null);
    await started.child.stop('test');
  });
});
