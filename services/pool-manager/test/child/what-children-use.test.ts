// The numbers of /proc: whose process is whose, and are they those of the kernel?

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { memoryMb } from '../../../../test/harness/process-tree.ts';
import { createUsageReader, type ProcessFacts, sumUp } from '../../src/child/usage.ts';
import { fixture, serverSpec, start } from './started.ts';

const MIB = 1024 * 1024;

describe('whose a process is', () => {
  const one = (pid: number, more: Partial<ProcessFacts>): ProcessFacts => ({
    ...{ pid, parent: 1, group: pid, session: pid, cpuMs: 1, memoryBytes: 10 },
    ...more,
  });

  it('its session’s, its group’s, or its ancestor’s; of nobody else it is nobody’s', () => {
    const all = [
      one(10, {}),
      one(11, { parent: 10, session: 10, group: 10 }),
      one(12, { parent: 1, session: 10 }),
      one(13, { parent: 11 }),
      one(20, {}),
      one(30, {}),
      one(31, { parent: 30 }),
    ];
    const sums = sumUp(all, new Set([10, 20]));
    assert.deepEqual(sums.get(10), { memoryBytes: 40, cpuMs: 4, processes: [10, 11, 12, 13] });
    assert.deepEqual(sums.get(20)?.processes, [20]);
    assert.equal(sums.size, 2);
  });

  it('a circle of parents, as a pid that is used again can make one, ends', () => {
    const sums = sumUp([one(2, { parent: 3 }), one(3, { parent: 2 })], new Set([9]));
    assert.equal(sums.size, 0);
  });
});

describe('what a child uses', () => {
  const reader = createUsageReader();

  it('is the sum over it and what it has started, out of its group too', async () => {
    const started = start(fixture('spawns-grandchild', { DETACHED: '1' }));
    const grandchild = Number(await started.call('grandchild'));
    const pid = started.child.pid!;
    const usage = (await reader.read(new Set([pid]))).get(pid)!;
    assert.deepEqual(usage.processes.toSorted(), [pid, grandchild].toSorted());
    const expected = memoryMb(pid).now + memoryMb(grandchild).now;
    assert.ok(Math.abs(usage.memoryBytes / MIB - expected) < 16, `${usage.memoryBytes} for ${expected} MB`);
    const exact = (await reader.exactBytes(usage.processes))!;
    assert.ok(exact > 0 && exact <= usage.memoryBytes, `${exact} of ${usage.memoryBytes}`);
    await started.child.stop('test');
    assert.equal((await reader.read(new Set([pid]))).size, 0);
    assert.equal(await reader.exactBytes([pid]), 0);
  });

  it('counts a daemon that has left session, parent and environment, and not that of another', async () => {
    const [started, other] = [start(fixture('starts-daemon')), start(fixture('starts-daemon'))];
    const [daemon, its] = [Number(await started.call('daemon')), Number(await other.call('daemon'))];
    const pids = [started.child.pid!, other.child.pid!] as const;
    const usages = await reader.read(new Set(pids));
    assert.deepEqual(usages.get(pids[0])?.processes.toSorted(), [pids[0], daemon].toSorted());
    assert.deepEqual(usages.get(pids[1])?.processes.toSorted(), [pids[1], its].toSorted());
    await Promise.all([started.child.stop('test'), other.child.stop('test')]);
  });

  it('grows with the time it takes', async () => {
    const started = start(serverSpec({ command: '/bin/sh', args: ['-c', 'while :; do :; done'] }));
    const pid = started.child.pid!;
    const read = async () => (await reader.read(new Set([pid]))).get(pid)?.cpuMs ?? 0;
    const before = await read();
    await eventually(async () => assert.ok((await read()) >= before + 100));
    await started.child.stop('test');
  });
});
