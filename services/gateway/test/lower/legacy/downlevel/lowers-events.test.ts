// Does a client see only the progress and logs that are its own, as it knows them? (protocol.md §5.3, §2.11)

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EventTerms, lowerEvent } from '../../../../src/lower/legacy/downlevel/event.ts';

function lower(terms: EventTerms, method: string, members: string): string | null {
  const text = lowerEvent(terms, method, new TextEncoder().encode(members));
  return text === null ? null : new TextDecoder().decode(text);
}

const base: EventTerms = { revision: '2025-11-25', token: null, level: undefined };
const PROGRESS = 'notifications/progress';
const MESSAGE = 'notifications/message';

for (const token of ['1', '"1"', '"p"', '9007199254740993', '-5']) {
  test(`GB-083: progress carries the token ${token} with its type`, () => {
    assert.equal(
      lower({ ...base, token }, PROGRESS, '"progress":1.50,"total":3,"message":"m"'),
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":1.50,"total":3,"message":"m"}}`,
    );
  });
}

test('GB-084: no token, no progress', () => assert.equal(lower(base, PROGRESS, '"progress":1'), null));

test('the oldest revision has no progress message', () => {
  assert.equal(
    lower({ ...base, token: '1', revision: '2024-11-05' }, PROGRESS, '"progress":1,"message":"m","total":2'),
    '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"total":2}}',
  );
});

const LEVELS: readonly [level: EventTerms['level'], message: string, passes: boolean][] = [
  [undefined, 'emergency', false],
  ['debug', 'debug', true],
  ['warning', 'notice', false],
  ['warning', 'warning', true],
  ['emergency', 'alert', false],
  ['debug', 'shout', false],
];

for (const [level, message, passes] of LEVELS) {
  test(`a log of level ${message} ${passes ? 'reaches' : 'does not reach'} a session at ${level ?? 'no level'}`, () => {
    const members = `"level":"${message}","data":{"n":1.0}`;
    const expected = `{"jsonrpc":"2.0","method":"notifications/message","params":{${members}}}`;
    assert.equal(lower({ ...base, level }, MESSAGE, members), passes ? expected : null);
  });
}

test('nothing else is written on a call’s stream', () => {
  assert.equal(lower({ ...base, token: '1', level: 'debug' }, 'notifications/tools/list_changed', ''), null);
});
