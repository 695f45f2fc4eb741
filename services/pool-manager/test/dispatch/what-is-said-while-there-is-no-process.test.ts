// protocol.md §4.7: published clients give a request up after a minute without an answer or progress.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { type FakeChild, legacyServer, ok, openOf, type Script, type Sent } from '../raise/fake.ts';
import { stage } from './stage.ts';

/** It introduces itself when it is let, and tells progress from 0 on. */
function slowly() {
  const waiting: (() => void)[] = [];
  const script: Script = legacyServer((m: Sent, child: FakeChild) => {
    if (m.method === 'initialize') {
      waiting.push(() => legacyServer()(m, child));
      return true;
    }
    if (m.method !== 'tools/call') return false;
    const progressToken = m.params?._meta?.progressToken;
    for (const progress of [0, 1]) {
      child.write({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress } });
    }
    ok(child, m, {});
    return true;
  });
  const go = () => {
    for (const introduce of waiting.splice(0)) introduce();
  };
  return { script, go };
}

test('who wants progress is told that it waits, in steps that leave room for the server’s own', async () => {
  const { script, go } = slowly();
  const s = stage({ scripts: [script], deps: { tellMs: 20 }, spec: { startTimeoutMs: 20_000, digest: 'd1' } });
  const events: { progress: number; message?: string }[] = [];
  const ended = Promise.withResolvers<string>();
  s.dispatcher.open(openOf('tools/call', { progress: true, digest: 'd1' }), new Uint8Array(0), {
    started: () => {},
    accepted: () => {},
    event: (_method, members) => void events.push(JSON.parse(`{${Buffer.from(members).toString()}}`) as never),
    result: () => ended.resolve('result'),
    fault: ({ message }) => ended.resolve(message),
    queuedBytes: () => 0,
  });
  const silent = s.open('tools/call', { progress: false });
  await eventually(() => events.length >= 3);
  assert.equal(s.children[0]?.methods().includes('tools/call'), false);
  go();
  assert.equal(await ended.promise, 'result');
  const waits = events.filter(({ message }) => message !== undefined);
  assert.ok(
    waits.every(({ progress }, i) => progress > 0 && progress < 0.001 && progress > (waits[i - 1]?.progress ?? 0)),
  );
  assert.deepEqual(
    events.slice(waits.length).map(({ progress }) => progress),
    [0, 1],
  );
  assert.deepEqual((await silent.ended).events, []);
  await s.end();
});
