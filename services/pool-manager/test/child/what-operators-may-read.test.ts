// auth-security I-14, RD-4, T-54, T-61: what of a child's words is shown, and how.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRedactor, escapeControls } from '../../src/child/pipes/redact.ts';
import { SHOWN_BYTES, StderrRing } from '../../src/child/pipes/stderr-ring.ts';

const JWT = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl';
const R = '[redacted]';

describe('redaction', () => {
  const env = {
    API_TOKEN: 'tok1',
    FOO: 'bar',
    ID: 'A1b2C3d4E5f6G7h8',
    DIR: '/opt/data/x1/y2/z3',
    PEM_KEY: 'line-one-of-it\nline-two-of-it',
  };
  const cases: readonly [string, string][] = [
    ['using tok1 twice tok1', `using ${R} twice ${R}`],
    ['a bar of soap', 'a bar of soap'],
    ['id A1b2C3d4E5f6G7h8.', `id ${R}.`],
    ['in /opt/data/x1/y2/z3', 'in /opt/data/x1/y2/z3'],
    ['only line-two-of-it', `only ${R}`],
    [`got ${JWT} there`, `got ${R} there`],
    ['Authorization: Bearer abc.def-ghi', `Authorization: ${R} ${R}`],
    ['bearer abcdefgh', `bearer ${R}`],
    ['redis://user:pa55@host/0', `redis://${R}@host/0`],
    ['AKIAIOSFODNN7EXAMPLE', R],
    ['{"access_token":"xyz123"}', `{"access_token":"${R}"}`],
    ['?password=hunter2&x=1', `?password=${R}&x=1`],
    ['-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----', R],
    ['starting on port 8080', 'starting on port 8080'],
  ];
  for (const [text, shown] of cases) {
    it(JSON.stringify(text), () => assert.equal(createRedactor(env).redact(text), shown));
  }

  it('stays fast on hostile text', () => {
    const { redact } = createRedactor({});
    for (const text of ['token'.repeat(5_000), '-----BEGIN '.repeat(2_500), '://'.repeat(8_000), 'eyJ'.repeat(9_000)]) {
      assert.ok(redact(text).length > 0);
    }
  });
});

describe('control characters', () => {
  it('become visible, line ends and tabs stay', () => {
    assert.equal(
      escapeControls('a\tb\n\u001b[31m\r\u2028\u202e\ufeff é 漢'),
      'a\tb\n\\u001b[31m\\u000d\\u2028\\u202e\\ufeff é 漢',
    );
  });
});

describe('the ring of stderr', () => {
  const ring = (env: Record<string, string> = {}) => new StderrRing(createRedactor(env));

  it('shows all of a little, and the end of much', () => {
    const r = ring();
    assert.equal(r.tail(), '');
    r.push(Buffer.from('one '));
    r.push(Buffer.from('two'));
    assert.equal(r.tail(), 'one two');
    for (let i = 0; i < 10_000; i++) r.push(Buffer.from(`line ${i}\n`));
    assert.ok(r.tail().length <= SHOWN_BYTES);
    assert.ok(r.tail().endsWith('line 9998\nline 9999\n'));
    r.push(Buffer.alloc(1_000_000, 'z'));
    assert.equal(r.tail(), 'z'.repeat(SHOWN_BYTES));
  });

  it('never shows the part of a secret that the ring has cut', () => {
    const secret = `s3cr3t-${'abcdefgh'.repeat(20)}`;
    for (let pad = 20_200; pad < 20_700; pad += 7) {
      const r = ring({ TOKEN: secret });
      r.push(Buffer.from(secret + 'p'.repeat(pad)));
      assert.doesNotMatch(r.tail(), /abcdefgh/);
    }
  });
});
