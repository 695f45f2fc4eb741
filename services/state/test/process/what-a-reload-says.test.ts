// What does the log of a running service say of a reload?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { startStandalone } from '../../../../test/harness/lockkeeper.ts';

test('a bad one is said once, however often it is read, and the next one again', async () => {
  const wish = { servers: [{ name: 'e', args: ['x'] }] };
  const lockkeeper = await startStandalone(wish);
  const said = () => lockkeeper.process.logs().match(/the configuration has faults.*unknown key \\"\w+\\"/g) ?? [];
  try {
    for (const [count, key] of [
      [1, 'first'],
      [2, 'second'],
    ] as const) {
      lockkeeper.rewrite?.({ ...wish, more: { [key]: 1 } });
      process.kill(lockkeeper.process.pid, 'SIGHUP');
      await eventually(() => said().length === count);
      process.kill(lockkeeper.process.pid, 'SIGHUP');
    }
    assert.match(said()[0]!, /first/);
    assert.match(said()[1]!, /second/);
    assert.equal(lockkeeper.process.logs().split('has faults').length, 3);
  } finally {
    await lockkeeper.stop();
  }
});
