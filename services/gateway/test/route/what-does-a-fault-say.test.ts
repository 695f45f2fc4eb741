// Faults of the link and errors of servers, in the words and codes that callers get (protocol.md §5.1, §5.2, §5.4).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fault } from '@lockkeeper/protocol/link/frames';
import { fault, refusalOf, stageOf } from './stage.ts';

async function refusalFor(given: Partial<Fault> & Pick<Fault, 'reason'>, method = 'tools/call', more: object = {}) {
  const era = (more as { upstream?: 'modern' }).upstream ?? 'legacy';
  const stage = stageOf({ servers: { s: { era, call: () => fault(given.reason, given) } } });
  const params = method === 'resources/read' ? '{"uri":"a://1"}' : '{"name":"t"}';
  return refusalOf(await stage.ask(method, params, more));
}

const ours: [Partial<Fault> & Pick<Fault, 'reason'>, object][] = [
  [
    { reason: 'busy', retryAfterMs: 700 },
    { reason: 'busy', message: 'All processes of server "s" are busy.', retryAfterMs: 700 },
  ],
  [
    { reason: 'start-failed', message: 'exited' },
    { reason: 'start-failed', message: 'server "s" could not be started: exited.' },
  ],
  [
    { reason: 'start-failed', message: 'server "s" could not be started: exited.' },
    { reason: 'start-failed', message: 'server "s" could not be started: exited.' },
  ],
  [
    { reason: 'timeout', mayHaveRun: true },
    { reason: 'timeout', message: 'Server "s" did not answer in time.' },
  ],
  [
    { reason: 'timeout' },
    {
      reason: 'timeout',
      message: 'Server "s" did not answer in time; nothing has run.',
      next: 'Try again in a moment.',
    },
  ],
  [
    { reason: 'lost', mayHaveRun: true },
    { reason: 'lost', message: 'Server "s" was lost during the call; it may have run in part.' },
  ],
  [
    { reason: 'lost' },
    {
      reason: 'lost',
      message: 'Server "s" was lost before the call reached it; nothing has run.',
      next: 'Try again in a moment.',
    },
  ],
  [
    { reason: 'lost', message: 'server "s" no longer has its state of this session: it ended. Nothing was run' },
    {
      reason: 'lost',
      message: 'Server "s" no longer has its state of this session: it ended. Nothing was run.',
      next: 'Calling again goes on with a fresh state.',
    },
  ],
  [
    { reason: 'protocol', message: 'odd' },
    { reason: 'upstream-protocol', message: 'Server "s" broke the protocol: odd.' },
  ],
  [
    { reason: 'too-large' },
    { reason: 'result-too-large', message: 'The answer of server "s" is larger than the limit.' },
  ],
  [{ reason: 'too-slow' }, { reason: 'too-slow' }],
  [{ reason: 'cancelled' }, { reason: 'cancelled' }],
  [{ reason: 'unknown-exchange' }, { reason: 'bad-state' }],
  [{ reason: 'internal', message: 'secret' }, { reason: 'internal' }],
  ...(['moved', 'draining', 'refused', 'unavailable'] as const).map((reason): [{ reason: Fault['reason'] }, object] => [
    { reason },
    { reason: 'unavailable', message: 'No pool manager can take calls to server "s" now.' },
  ]),
];

for (const [given, expected] of ours) {
  test(`a fault ${JSON.stringify(given)} has its words`, async () => {
    assert.deepEqual(await refusalFor(given), expected);
  });
}

/** Upstream code, era, method → code for a modern caller, code for a legacy one where it differs. */
const codes: [number, 'legacy' | 'modern', string, number, number | undefined][] = [
  [-32602, 'legacy', 'tools/call', -32602, undefined],
  [-32603, 'legacy', 'tools/call', -32603, undefined],
  [-32601, 'legacy', 'tools/call', -32603, -32601],
  [-32601, 'modern', 'tools/call', -32603, undefined],
  [-32002, 'legacy', 'resources/read', -32602, -32002],
  [-32602, 'modern', 'resources/read', -32602, -32002],
  [-32602, 'legacy', 'resources/read', -32602, undefined],
  [-32000, 'legacy', 'tools/call', -32603, -32000],
  [-32020, 'modern', 'tools/call', -32603, undefined],
  [-32022, 'modern', 'tools/call', -32603, undefined],
  [-32042, 'legacy', 'tools/call', -32603, -32042],
  [-32700, 'legacy', 'tools/call', -32603, -32700],
  [-32099, 'modern', 'tools/call', -32603, undefined],
  [-31999, 'legacy', 'tools/call', -31999, undefined],
  [1234, 'legacy', 'tools/call', 1234, undefined],
  [-1, 'modern', 'tools/call', -1, undefined],
];

for (const [code, upstream, method, shown, legacy] of codes) {
  test(`code ${code} of a ${upstream} server on ${method} is ${shown}, ${legacy ?? 'the same'} for a legacy caller`, async () => {
    const refusal = await refusalFor({ reason: 'upstream', code, message: 'm' }, method, { upstream });
    assert.equal(refusal.reason, 'upstream');
    assert.equal(refusal.code, shown);
    assert.equal(refusal.legacyCode, legacy);
    assert.equal(refusal.message, 'm');
  });
}

test('a resource that is not found carries the URI as asked; data that came stays', async () => {
  const bare = await refusalFor({ reason: 'upstream', code: -32602, message: 'm' }, 'resources/read');
  assert.equal(bare.data, '{"uri":"a://1"}');
  const own = await refusalFor({ reason: 'upstream', code: -32602, message: 'm', data: '{"x":1.0}' }, 'resources/read');
  assert.equal(own.data, '{"x":1.0}');
});

test('-32021 is shown for what the client lacks, with the server’s own list', async () => {
  const data = '{"requiredCapabilities":{"elicitation":{"form":{}}}}';
  const given = { reason: 'capability', code: -32021, message: 'needs elicitation', data } as const;
  assert.deepEqual(await refusalFor(given), { reason: 'capability', message: 'needs elicitation', data });
});

test('-32021 for what the client has and we withheld is not the client’s to mend', async () => {
  const data = '{"requiredCapabilities":{"elicitation":{"form":{}}}}';
  const given = { reason: 'capability', code: -32021, message: 'needs elicitation', data } as const;
  const refusal = await refusalFor(given, 'tools/call', { capabilities: { elicitation: {} } });
  assert.equal(refusal.reason, 'upstream');
  assert.equal(refusal.code, -32603);
  assert.match(refusal.message ?? '', /withheld from it here: elicitation/);
});

test('a link that throws, against its contract, is an internal error and not an exception', async () => {
  const deps = { link: { call: () => Promise.reject(new Error('bug')) } };
  const stage = stageOf({ servers: { s: {} }, deps });
  assert.equal(refusalOf(await stage.ask('tools/call', '{"name":"t"}')).reason, 'internal');
});
