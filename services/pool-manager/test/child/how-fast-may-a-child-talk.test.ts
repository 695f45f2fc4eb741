// I-13, T-60: lines and bytes a second, averaged; a burst is nobody's fault.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OutputRate } from '../../src/child/output-rate.ts';
import { ManualClock } from '../pool/stage.ts';
import { fixture, start, testSpawn } from './started.ts';

describe('the rate', () => {
  it('lets ten seconds’ worth through at once, and then what comes in by the second', () => {
    const clock = new ManualClock();
    const rate = new OutputRate({ linesPerSecond: 100, bytesPerSecond: 1000 }, 'lines', clock);
    assert.equal(rate.spend(1000, 10_000), null);
    assert.equal(rate.spend(1, 0), 'flooded its output: more than 100 lines a second');
    clock.time += 5_000;
    assert.equal(rate.spend(400, 0), null);
    assert.equal(rate.spend(0, 5_001), 'flooded its output: more than 1000 bytes a second');
    clock.time += 3_600_000;
    assert.equal(rate.spend(1000, 10_000), null);
    assert.notEqual(rate.spend(1, 0), null);
  });

  it('is not upset by a clock that goes back', () => {
    const clock = new ManualClock();
    const rate = new OutputRate({ linesPerSecond: 1, bytesPerSecond: 1 }, 'lines', clock);
    clock.time -= 60_000;
    assert.equal(rate.spend(10, 10), null);
  });
});

describe('a child that floods', () => {
  for (const [what, rates] of [
    ['lines', { linesPerSecond: 200, bytesPerSecond: 1e9 }],
    ['bytes', { linesPerSecond: 1e9, bytesPerSecond: 20_000 }],
  ] as const) {
    it(`${what}: is ended, and the reason is its own fault`, async () => {
      const started = start(fixture('greedy'), testSpawn({ rates: () => rates }));
      void started.call('flood').catch(() => {});
      const reason = await started.exit();
      assert.match(reason.words, new RegExp(`^flooded its output: more than \\d+ ${what} a second$`));
      assert.equal(reason.cause, 'flood');
      await started.child.stop('test');
    });
  }

  it('below the rate it goes on', async () => {
    const rates = () => ({ linesPerSecond: 50_000, bytesPerSecond: 512 * 1024 * 1024 });
    const started = start(fixture('floods-stdout'), testSpawn({ rates }));
    assert.equal(await started.call('flood', { lines: 20_000 }), '20000 lines');
    assert.equal(await started.call('echo', { text: 'x' }), 'x');
    await started.child.stop('test');
  });
});
