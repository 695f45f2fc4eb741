// GB-015, GB-017, GB-020, GB-023: every child ends whole, whoever ends it.

import assert from 'node:assert/strict';
import { spawn as spawnProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../../../test/harness/eventually.ts';
import { sweepOrphans } from '../../src/child/end/marks.ts';
import { alive, fixture, serverSpec, start, testSpawn } from './started.ts';

describe('the end of a child', () => {
  it('stop closes stdin, and a good child ends by itself', async () => {
    const started = start(fixture('echo-legacy'));
    await started.call('echo', { text: 'a' });
    await started.child.stop('idle too long');
    assert.deepEqual(started.exits, [{ kind: 'stopped', code: 0, signal: null, words: 'idle too long' }]);
    assert.equal(started.child.exited, started.exits[0]);
  });

  it('stop is idempotent, and the first reason stands', async () => {
    const started = start(fixture('echo-legacy'));
    await Promise.all([started.child.stop('one'), started.child.stop('two')]);
    await started.child.stop('three');
    assert.deepEqual(
      started.exits.map(({ words }) => words),
      ['one'],
    );
  });

  it('a child that ignores the end of stdin and SIGTERM is killed', async () => {
    const started = start(fixture('ignores-close'));
    await started.call('echo', { text: 'a' });
    const pid = started.child.pid!;
    await started.child.stop('test');
    assert.equal(started.exits[0]?.signal, 'SIGKILL');
    assert.equal(alive(pid), false);
  });

  for (const env of [{}, { DETACHED: '1' }] as Record<string, string>[]) {
    const where = env.DETACHED === undefined ? 'in the group' : 'out of the group';
    it(`GB-015: a stubborn grandchild ${where} ends with its parent`, async () => {
      const started = start(fixture('spawns-grandchild', env));
      const grandchild = Number(await started.call('grandchild'));
      assert.ok(alive(grandchild));
      await started.child.stop('test');
      await eventually(() => !alive(grandchild));
    });

    it(`GB-015: and so it does ${where} when the parent crashes`, async () => {
      const started = start(fixture('spawns-grandchild', env));
      const grandchild = Number(await started.call('grandchild'));
      process.kill(started.child.pid!, 'SIGKILL');
      assert.equal((await started.exit()).kind, 'killed');
      await started.child.stop('test');
      await eventually(() => !alive(grandchild));
    });
  }

  it('GB-015: a wrapper script goes with what it started', async () => {
    const script = `sleep 1000 & echo "{\\"pid\\":$!}"; wait`;
    const started = start(serverSpec({ command: '/bin/sh', args: ['-c', script] }));
    await eventually(() => started.lines.length > 0);
    const { pid } = JSON.parse(started.lines[0]!) as { pid: number };
    await started.child.stop('test');
    await eventually(() => !alive(pid));
  });

  it('GB-017: children that never answer are all gone after stop, twenty at once', async () => {
    const started = Array.from({ length: 20 }, () => start(fixture('silent')));
    const pids = started.map(({ child }) => child.pid!);
    await Promise.all(started.map(({ child }) => child.stop('never answered')));
    assert.deepEqual(pids.filter(alive), []);
  });

  it('GB-020: stop racing the exit settles once, fifty times, without an unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', listen);
    const spawn = testSpawn();
    for (let round = 0; round < 5; round++) {
      const started = Array.from({ length: 10 }, () =>
        start(fixture('crashes-on-start', { EXIT_AFTER_MS: '5' }), spawn),
      );
      for (const one of started) one.child.send(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"initialize"}'));
      await Promise.all(started.map((one) => one.child.stop('timeout')));
      assert.deepEqual(
        started.map((one) => one.exits.length),
        started.map(() => 1),
      );
    }
    process.off('unhandledRejection', listen);
    assert.deepEqual(unhandled, []);
  });

  it('GB-023: a kill while idle is noticed at once', async () => {
    const started = start(fixture('echo-legacy'));
    await started.call('echo', { text: 'a' });
    process.kill(started.child.pid!, 'SIGKILL');
    assert.equal((await started.exit()).words, 'was killed by SIGKILL (out of memory?)');
  });

  it('GB-023: a child that closes stdout and lives on is ended', async () => {
    const started = start(fixture('crashes-mid-call'));
    started.child.send(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"close"}}'));
    assert.equal((await started.exit()).words, 'closed its output');
  });

  it('GB-015: a manager killed without warning leaves nobody, by the death signal or by the next one’s sweep', async () => {
    const manager = spawnProcess(process.execPath, [fileURLToPath(new URL('manager.ts', import.meta.url))], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await manager.stdout.take(1).toArray()) as [Buffer];
    const { child, grandchild } = JSON.parse(line.toString()) as { child: number; grandchild: number };
    assert.ok(alive(child) && alive(grandchild));
    manager.kill('SIGKILL');
    await eventually(() => !alive(manager.pid!));
    await sweepOrphans(tmpdir());
    await eventually(() => !alive(child) && !alive(grandchild));
    assert.deepEqual(
      readdirSync(tmpdir()).filter((name) => name.startsWith(`lockkeeper-${manager.pid}.`)),
      [],
    );
  });

  it('GB-015: a manager killed without warning leaves nobody and no file, though no other is ever started', async () => {
    // Its directories are where no other manager of this machine looks.
    const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-guarded-'));
    const manager = spawnProcess(process.execPath, [fileURLToPath(new URL('manager.ts', import.meta.url))], {
      env: { ...process.env, GUARD: '1', TMPDIR: folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [line] = (await manager.stdout.take(1).toArray()) as [Buffer];
      const { child, grandchild } = JSON.parse(line.toString()) as { child: number; grandchild: number };
      assert.ok(alive(child) && alive(grandchild));
      assert.equal(readdirSync(folder).length, 1);
      manager.kill('SIGKILL');
      await eventually(() => !alive(child) && !alive(grandchild) && readdirSync(folder).length === 0);
    } finally {
      manager.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('the sweep of orphans leaves the children of living managers alone', async () => {
    const started = start(fixture('echo-legacy'));
    await started.call('echo', { text: 'a' });
    await sweepOrphans('/no/such/directory');
    assert.equal(await started.call('echo', { text: 'b' }), 'b');
    await started.child.stop('test');
  });
});
