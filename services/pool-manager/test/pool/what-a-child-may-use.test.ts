// Memory caps and spinning processes: who is replaced, who is ended, who is only shown.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryCapsOf } from '@lockkeeper/protocol/config/settings';
import { BusyError } from '../../src/pool/contract.ts';
import { judgeMemory, spinsSince } from '../../src/pool/meter/judge.ts';
import { StartError } from '../../src/raise/contract.ts';
import { lease, now, numberOf, server, stage } from './stage.ts';

const MIB = 1024 * 1024;
const capped = (more = {}) => server({ pool: { maxMemoryMb: 100, ...more } });

describe('the verdict on what a child uses', () => {
  for (const [mb, rules, verdict] of [
    [100, { maxMemoryMb: 100 }, 'fine'],
    [101, { maxMemoryMb: 100 }, 'replace'],
    [400, { maxMemoryMb: 100 }, 'replace'],
    [401, { maxMemoryMb: 100 }, 'end'],
    [151, { maxMemoryMb: 100, hardMemoryMb: 150 }, 'end'],
    [9999, { maxMemoryMb: 100, hardMemoryMb: 0 }, 'replace'],
    [9999, { maxMemoryMb: 0 }, 'fine'],
    [1024, {}, 'fine'],
    [1025, {}, 'replace'],
    [4097, {}, 'end'],
    [9999, { maxMemoryMb: 0, hardMemoryMb: 100 }, 'end'],
  ] as const) {
    it(`of ${mb} MB under ${JSON.stringify(rules)} is "${verdict}"`, () => {
      assert.equal(judgeMemory(mb * MIB, memoryCapsOf(rules), 'user'), verdict);
    });
  }

  it('leaves a session its process until the hard cap', () => {
    const caps = { soft: 100, hard: 400 };
    assert.deepEqual(
      [399, 401].map((mb) => judgeMemory(mb * MIB, caps, 'session')),
      ['fine', 'end'],
    );
  });

  it('calls spinning what takes a processor while nobody uses it, from when it began', () => {
    assert.equal(spinsSince(null, 0.95, true, 7), 7);
    assert.equal(spinsSince(3, 0.95, true, 7), 3);
    assert.equal(spinsSince(3, 0.5, true, 7), null);
    assert.equal(spinsSince(3, 0.95, false, 7), null);
  });
});

describe('a child over its cap', () => {
  it('is replaced while idle, and says why in the list until it is gone', async () => {
    const s = stage();
    (await lease(s, { spec: capped() })).release();
    s.uses.set(0, { mb: 120 });
    await s.clock.advance(2_000);
    assert.match(s.made[0]!.stopped ?? '', /used more than 100 MB of memory \(pool\.maxMemoryMb\)/);
    assert.equal(s.made[0]!.hurried, false);
    assert.equal(s.pools.stats().endsBy.memory, 1);
    assert.equal(numberOf(await lease(s, { spec: capped() })), 1);
  });

  it('finishes its calls, but gets no new ones', async () => {
    const s = stage();
    const spec = capped();
    const held = await lease(s, { spec });
    s.uses.set(0, { mb: 120 });
    await s.clock.advance(2_000);
    assert.equal(s.made[0]!.stopped, null);
    assert.match(s.pools.rows()[0]!.retiring ?? '', /100 MB/);
    const next = await lease(s, { spec });
    assert.equal(numberOf(next), 1);
    held.release();
    assert.match(s.made[0]!.stopped ?? '', /100 MB/);
    next.release();
  });

  it('is not judged by pages that its processes share', async () => {
    const s = stage();
    (await lease(s, { spec: capped() })).release();
    s.uses.set(0, { mb: 900, exactMb: 90 });
    await s.clock.advance(2_000);
    assert.equal(s.made[0]!.stopped, null);
    assert.equal(s.pools.rows()[0]!.memoryBytes, 900 * MIB);
    assert.equal(s.pools.stats().servers['acme/s']!.memoryBytes, 900 * MIB);
  });

  it('is ended at once over the hard cap, in the middle of a call, without time for goodbyes', async () => {
    const s = stage();
    await lease(s, { spec: capped({ hardMemoryMb: 200 }) });
    s.uses.set(0, { mb: 201 });
    await s.clock.advance(2_000);
    assert.equal(s.made[0]!.stopped, 'used more than 200 MB of memory and was ended');
    assert.equal(s.made[0]!.hurried, true);
    assert.equal(s.pools.stats().endsBy.memory, 1);
    assert.equal(s.pools.stats().crashes, 0);
  });

  it('comes back more and more slowly, like one that crashes', async () => {
    const s = stage();
    const spec = capped({ hardMemoryMb: 200 });
    let refused: unknown;
    for (let n = 0; n < 12 && refused === undefined; n++) {
      const held = lease(s, { spec });
      await s.clock.advance(2_000);
      const got = await now(
        held.catch((error: unknown) => {
          refused = error;
        }),
      );
      if (!got) continue;
      s.uses.set(numberOf(got)!, { mb: 300 });
      await s.clock.advance(2_000);
    }
    assert.ok(refused instanceof StartError && !(refused instanceof BusyError));
    assert.match(refused.words, /crashed in calls .* the last time: used more than 200 MB of memory and was ended/);
  });
});

describe('a child that turns in circles', () => {
  it('is shown and told once, and left to its idle time', async () => {
    const s = stage();
    (await lease(s, { spec: server() })).release();
    for (let seconds = 2; seconds <= 60; seconds += 2) {
      s.uses.set(0, { cpuMs: seconds * 1000 });
      await s.clock.advance(2_000);
    }
    const [row] = s.pools.rows();
    assert.deepEqual([row!.spinning, row!.cpuPercent], [true, 100]);
    assert.equal(s.pools.stats().spinning, 1);
    assert.equal(s.warnings.filter(({ words }) => words === 'an idle child takes a whole processor').length, 1);
    assert.equal(s.made[0]!.stopped, null);
  });

  it('is not one that works for somebody', async () => {
    const s = stage();
    await lease(s, { spec: server() });
    for (let seconds = 2; seconds <= 60; seconds += 2) {
      s.uses.set(0, { cpuMs: seconds * 1000 });
      await s.clock.advance(2_000);
    }
    const [row] = s.pools.rows();
    assert.deepEqual([row!.spinning, row!.cpuPercent], [false, 100]);
  });
});
