// What may a line of a log say? A closed list of fields, cleaned and bounded (auth-security RD-1, RD-6, T-54).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLines, type LinesWish } from '../../src/log/lines.ts';
import { cleanTail, cleanText } from '../../src/log/text.ts';

type Line = Record<string, unknown>;

async function linesOf(fields: object, wish: Partial<LinesWish> = {}): Promise<Line[]> {
  const written: string[] = [];
  const lines = createLines({
    ...{ level: 'info', service: 'some', fields: ['xid', 'reason', 'url', 'count'], writes: 'at-once' },
    sink: { write: (text: string) => written.push(text) },
    ...wish,
  });
  lines.say('warn', 'something happened', fields);
  lines.say('debug', 'nothing to speak of', fields);
  await lines.flush();
  return written.map((text) => JSON.parse(text) as Line);
}

const SECRET = 'eyJhbGciOiJFUzI1NiJ9.c2VjcmV0.c2ln';

test('fields that are not on the list are dropped, whatever they hold, and lines below the level', async () => {
  const [line, ...more] = await linesOf({
    xid: 'x',
    count: 3,
    headers: { authorization: SECRET },
    token: SECRET,
    reason: [SECRET],
    req: { SECRET },
  });
  const { time, ...said } = line!;
  assert.deepEqual(said, { level: 40, service: 'some', xid: 'x', count: 3, event: 'something happened' });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT/);
  assert.deepEqual(more, []);
});

test('an error is its name, code and message; its cause and its properties stay', async () => {
  const more = { code: 'EHOSTUNREACH', request: SECRET };
  const error = Object.assign(new Error('no route to host', { cause: new Error(SECRET) }), more);
  for (const fields of [{ error }, { err: error }]) {
    const [line] = await linesOf(fields);
    assert.deepEqual(line?.error, { name: 'Error', message: 'no route to host', code: 'EHOSTUNREACH' });
    assert.ok(!JSON.stringify(line).includes(SECRET));
  }
  assert.deepEqual((await linesOf({ err: SECRET }))[0]?.error, { name: 'string' });
});

test('T-54: no text forges a line, a level or a terminal', async () => {
  const reason = 'a\n{"level":60,"event":"forged"}\r\u001b[31m\u2028\u202e';
  const lines = await linesOf({ reason });
  assert.equal(lines.length, 1);
  assert.match(String(lines[0]?.reason), /^a\\u000a/);
  for (const unsafe of ['\n', '\r', '\u001b', '\u2028', '\u202e'])
    assert.ok(!String(lines[0]?.reason).includes(unsafe));
});

test('long texts lose their end, or their beginning where the end is what matters, and some are shown otherwise', async () => {
  const shown = { url: (text: string) => cleanTail(text, 4) };
  const [line] = await linesOf({ reason: 'y'.repeat(5000), url: 'abc\ndef' }, { shown });
  assert.equal(line?.reason, `${'y'.repeat(2048)}…`);
  assert.equal(line?.url, '…\\u000adef');
  assert.deepEqual([cleanText('größe'), cleanText('abc', 2)], ['größe', 'ab…']);
});
