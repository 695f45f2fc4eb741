// What a pool manager says is a closed list of fields (auth-security RD-1); of stderr the end is kept.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogging } from '../../src/observe/logger.ts';

test('nothing but its fields, the last of what a server wrote, and no line below the level', async () => {
  const written: string[] = [];
  const { log, flush } = createLogging({ level: 'info', stream: { write: (text: string) => written.push(text) } });
  const stderr = `${'x'.repeat(20_000)}\nlast words`;
  log.warn({ server: 'files', pid: 7, env: { KEY: 'secret' }, arguments: ['secret'], stderr }, 'it ended');
  log.debug({ server: 'files' }, 'quiet');
  await flush();
  const [line, ...more] = written.map((text) => JSON.parse(text) as Record<string, unknown>);
  const { time: _time, stderr: tail, ...said } = line!;
  assert.deepEqual(said, { level: 40, service: 'pool-manager', server: 'files', pid: 7, event: 'it ended' });
  assert.match(String(tail), /^…x+\\u000alast words$/);
  assert.ok(String(tail).length < 16_500);
  assert.deepEqual(more, []);
});
