// What a legacy server asks: what is answered here and now, and what goes to whoever carries questions.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Connection, Question } from '../../src/raise/contract.ts';
import { bytes, collect, connectorOf, legacyServer, NEVER, ok, openOf, spawner, specOf } from './fake.ts';
import { echo, scene } from './legacy-scene.ts';

test('a state or a re-join for a process that parks nothing is an unknown exchange', async () => {
  const s = await scene(echo);
  assert.equal((await s.call('tools/call', '', { state: '' })).fault?.reason, 'unknown-exchange');
  assert.equal((await s.call('tools/call', '', { wait: true })).fault?.reason, 'unknown-exchange');
  await s.end();
});

test('every request of the server is answered at once: ping with {}, what was not declared with its code', async () => {
  const asks = [
    { id: 'p"1', method: 'ping' },
    { id: 7, method: 'roots/list' },
    { id: 8, method: 'sampling/createMessage', params: { messages: [] } },
    { id: 9, method: 'elicitation/create', params: { message: 'x', requestedSchema: {} } },
    { id: 10, method: 'elicitation/create', params: { mode: 'url', url: 'https://x.example' } },
    { id: 11, method: 'future/ask' },
  ];
  const s = await scene((m, child) => {
    if (m.method !== 'tools/call') return false;
    for (const ask of asks) child.write({ jsonrpc: '2.0', ...ask });
    ok(child, m, {});
    return true;
  });
  await s.call('tools/call');
  const answers = s.child.received.filter((m) => m.method === undefined);
  assert.deepEqual(
    answers.map((a) => [a.id, a.error?.code ?? a.result]),
    [
      ['p"1', {}],
      [7, -32601],
      [8, -32601],
      [9, -32601],
      [10, -32602],
      [11, -32601],
    ],
  );
  await s.end();
});

test('a declared question goes to whoever carries questions, with the call that runs, and is answered through it', async () => {
  const asked: Question[] = [];
  const withdrawn: string[] = [];
  const questions = {
    ask: (_c: Connection, q: Question) => void asked.push({ ...q, params: q.params.slice() }),
    withdraw: (_c: Connection, id: string) => void withdrawn.push(id),
  };
  const { spawn, children } = spawner(
    legacyServer((m, child) => {
      if (m.method !== 'tools/call') return m.method === undefined;
      child.write({ jsonrpc: '2.0', id: 'q1', method: 'elicitation/create', params: { message: 'name?' } });
      return true;
    }),
  );
  const connector = connectorOf({ spawn, questions });
  const connection = await connector.connect(specOf({ era: 'legacy' }), { elicitation: { form: {} } }, NEVER);
  const head = openOf('tools/call');
  connection.call(head, bytes(''), collect().reply);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(asked[0]?.asker?.xid, head.xid);
  assert.equal(Buffer.from(asked[0]!.params).toString(), '{"message":"name?"}');
  asked[0]?.answer(bytes('{"action":"accept",\n"content":{}}'));
  assert.equal(children[0]?.raw.at(-1), '{"jsonrpc":"2.0","id":"q1","result":{"action":"accept", "content":{}}}');
  children[0]?.write({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'q1' } });
  assert.deepEqual(withdrawn, ['"q1"']);
  await connection.stop('test');
  await connector.close();
});
