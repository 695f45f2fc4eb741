// Where the scanner takes a short cut (long strings by words, deep values without recursion, a nested object's members
// in the same pass), it says what it says elsewhere.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesOf } from '@lockkeeper/protocol/json/compose';
import { itemsOf, type Member, ScanError, scan, textOf } from '@lockkeeper/protocol/json/scan';

const LOOSE = { unique: false, maxDepth: 10_000 };

function faultOf(bytes: Uint8Array): string | null {
  try {
    scan(bytes, LOOSE);
    return null;
  } catch (error) {
    return error instanceof ScanError ? error.fault : String(error);
  }
}

test('a long string ends at its quote, whatever the alignment of the bytes, and with any character before it', () => {
  for (const tail of ['', '\\"', '\\\\', 'é', '€', '\u{1f600}', '\u007f', ' !', '\\u0041']) {
    for (let length = 1018; length < 1034; length++) {
      for (let shift = 0; shift < 4; shift++) {
        const text = `"${'x'.repeat(length)}${tail}"`;
        const whole = bytesOf(`${'?'.repeat(shift)}[${text},1]${'"'.repeat(5)}`);
        const bytes = whole.subarray(shift, whole.length - 5);
        const { span } = scan(bytes, LOOSE);
        assert.equal(textOf(bytes, itemsOf(bytes, span)[0]!), text);
      }
    }
  }
});

test('a control character, a bad escape or no end are found anywhere in a long string', () => {
  for (let at = 1020; at < 1036; at++) {
    for (const bad of ['\u0000', '\u001f', '\n', '\\x', '\\u00g0']) {
      assert.equal(faultOf(bytesOf(`"${'x'.repeat(at)}${bad}${'y'.repeat(50)}"`)), 'syntax');
    }
    assert.equal(faultOf(bytesOf(`"${'x'.repeat(at)}`)), 'syntax');
    assert.equal(faultOf(bytesOf(`"${'x'.repeat(at)}\\`)), 'syntax');
  }
});

test('GB-137: values nested thousands of levels deep are walked; deeper than the rules is too deep', () => {
  const nested = (depth: number, core = '1') => `${'{"anyOf":[ '.repeat(depth)}${core}${' ]}'.repeat(depth)}`;
  assert.equal(faultOf(bytesOf(nested(2000))), null);
  assert.equal(faultOf(bytesOf(nested(4900, '{"a":[],"b":{},"c":"d"}'))), null);
  assert.equal(faultOf(bytesOf(nested(5100))), 'too-deep');
  for (const core of ['1,', '{"a"}', '{"a":1,}', '[1 2]', '{1:2}', ']', '}', '[}', '{"a":1]']) {
    assert.equal(faultOf(bytesOf(nested(300, core))), 'syntax', core);
  }
  assert.equal(faultOf(bytesOf(nested(300).slice(0, -1))), 'syntax');
});

test('the members of one nested object come with the root’s; a repeated key gives the last one’s', () => {
  const bytes = bytesOf('{"result":{"x":1},"id":1,"result":{"y":[2],"result":{"z":3}},"other":{"y":4}}');
  const members: Member[] = [];
  scan(bytes, LOOSE, { key: 'result', members });
  assert.deepEqual(
    members.map((m) => [m.key, textOf(bytes, m)]),
    [
      ['y', '[2]'],
      ['result', '{"z":3}'],
    ],
  );
});
