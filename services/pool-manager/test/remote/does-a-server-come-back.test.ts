// Is a server that was away found again, without a caller having to find out (GB-013)?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@lockkeeper/state/clock';
import { eventually } from '../../../../test/harness/eventually.ts';
import { startRawUpstream } from '../../../../test/servers/http/raw-upstream.ts';
import type { RequestFailure } from '../../src/child/contract.ts';
import { createRemote } from '../../src/remote/remote.ts';
import { connectorOf, notedLog } from '../raise/fake.ts';
import { remoteSpec } from './fetch/stage.ts';

test('GB-013: where callers were turned away, a real request of our own finds out that their server is back', async () => {
  const away = await startRawUpstream({ kind: 'modern' });
  await away.close();
  const spec = remoteSpec(away.url);
  const connector = connectorOf({
    spawn: () => assert.fail('nothing is started'),
    remote: (...args) => remote.spawn(...args),
  });
  const remote = createRemote({
    ...{ clock: systemClock, log: notedLog(), version: 'test', beforeWrite: () => {} },
    token: () => 'session',
    rates: () => ({ linesPerSecond: 50_000, bytesPerSecond: 1e9 }),
    maxLineBytes: () => 1_000_000,
    connector: () => connector,
  });
  const failures: RequestFailure[] = [];
  const events = {
    line() {},
    fault() {},
    exit() {},
    failed: (_id: number, why: RequestFailure) => void failures.push(why),
  };
  const child = remote.spawn(spec, events, 'modern');
  const call = async (id: number): Promise<RequestFailure> => {
    child.send(Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":{}}`));
    await eventually(() => failures.length === id);
    return failures[id - 1]!;
  };
  for (let id = 1; id <= 5; id++) assert.match((await call(id)).words, /cannot be reached/);
  const turnedAway = await call(6);
  assert.match(turnedAway.words, /cannot be reached .*; the next try is in 1 s/);
  assert.deepEqual([turnedAway.kind, turnedAway.mayHaveRun], ['unreachable', false]);

  const back = await startRawUpstream({ kind: 'modern', port: away.port });
  await eventually(() => back.of('server/discover').length > 0);
  assert.deepEqual(back.of('tools/list'), []);
  await child.stop('test');
  await connector.close();
  await remote.close();
  await back.close();
});
