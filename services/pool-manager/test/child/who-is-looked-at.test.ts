// Whom the meter looks at: every child of the node from its first moment, each ended once.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '@lockkeeper/state/clock';
import { eventually } from '../../../../test/harness/eventually.ts';
import { createLiving } from '../../src/child/living.ts';
import { createUsageReader } from '../../src/child/usage.ts';
import { createMeter } from '../../src/pool/meter/meter.ts';
import { alive, fixture, start, testSpawn } from './started.ts';

const small = { maxMemoryMb: 100, hardMemoryMb: 150 };
const capped = { pool: { max: 8, minWarm: 0, idleMs: 300_000, maxAgeMs: 86_400_000, maxUses: 1_000_000, ...small } };

function stage() {
  const living = createLiving(testSpawn());
  const told: string[] = [];
  const meter = createMeter({
    ...{ reader: createUsageReader(), clock: systemClock, everyMs: 3_600_000 },
    children: () => [],
    running: living.children,
    endedUnlent: ({ spec: { name } }, words) => told.push(`${name}: ${words}`),
    replace: () => assert.fail(),
    end: () => assert.fail(),
    spins: () => {},
    failed: (error) => assert.fail(String(error)),
  });
  return { living, meter, told };
}

describe('a child that no pool has', () => {
  it('is ended over the hard cap, once, and says why; one below it goes on', async () => {
    const { living, meter, told } = stage();
    const greedy = start(fixture('greedy', { HOARD_MB: '200' }, { ...capped, name: 'greedy' }), living.spawn);
    const good = start(fixture('echo-legacy', {}, { ...capped, name: 'good' }), living.spawn);
    await good.call('echo', { text: 'a' });
    await eventually(async () => {
      await meter.measure();
      assert.deepEqual(told, ['greedy: used more than 150 MB of memory and was ended']);
    });
    await Promise.all([meter.measure(), meter.measure()]);
    assert.equal(told.length, 1);
    assert.equal((await greedy.exit()).words, 'used more than 150 MB of memory and was ended');
    assert.equal(await good.call('echo', { text: 'b' }), 'b');
    await good.child.stop('test');
    meter.close();
  });

  it('is looked at no more when it has ended or could not be started', async () => {
    const { living, meter } = stage();
    const good = start(fixture('echo-legacy'), living.spawn);
    const never = start(
      fixture('echo-legacy', {}, { stdio: { command: '/no/such', args: [], env: {}, cwd: '/' } }),
      living.spawn,
    );
    assert.deepEqual(
      living.children().map(({ pid }) => pid),
      [good.child.pid],
    );
    await never.exit();
    await good.child.stop('test');
    assert.deepEqual(living.children(), []);
    assert.equal(alive(good.child.pid!), false);
    meter.close();
  });
});
