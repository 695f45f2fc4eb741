// The scanner accepts exactly what JSON.parse accepts, and its spans cut out what JSON.parse would give.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyEdits, bytesOf, membersWithout, objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, itemsOf, membersIn, membersOf, ScanError, scan, textOf } from '@lockkeeper/protocol/json/scan';
import fc from 'fast-check';

const STRICT = { unique: true, maxDepth: 64 };

function accepts(text: string): boolean {
  try {
    scan(bytesOf(text));
    return true;
  } catch (e) {
    assert.ok(e instanceof ScanError);
    return false;
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test('every value that JSON.stringify makes is accepted, with any white space', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 1, '\t', ' \r'), (value, space) => {
      assert.ok(accepts(JSON.stringify(value, null, space)));
    }),
    { numRuns: 500 },
  );
});

test('a text with one byte changed, left out or doubled is accepted exactly when JSON.parse accepts it', () => {
  const change = fc.constantFrom(
    '',
    '"',
    '\\',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '0',
    '-',
    '.',
    'e',
    'u',
    '\n',
    '\u0001',
    'é',
  );
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), fc.nat(), change, fc.boolean(), (value, where, put, replace) => {
      const text = JSON.stringify(value);
      const at = where % (text.length + 1);
      const mutated = text.slice(0, at) + put + text.slice(at + (replace ? 1 : 0));
      // Cutting a surrogate pair leaves no UTF-8 text to speak of.
      fc.pre(mutated.isWellFormed());
      assert.equal(accepts(mutated), parses(mutated), mutated);
    }),
    { numRuns: 4000 },
  );
});

test('random text of JSON characters is accepted exactly when JSON.parse accepts it', () => {
  const soup = fc.string({ unit: fc.constantFrom(...'{}[]",:0123.eE+-\\u trflasn'), maxLength: 12 });
  fc.assert(
    fc.property(soup, (text) => {
      assert.equal(accepts(text), parses(text), text);
    }),
    { numRuns: 20_000 },
  );
});

test('members are found with the text they stand in', () => {
  const bytes = bytesOf(' {"a" : 1.0 , "b\\u0063":{"x":[1, 2]}, "c":12345678901234567890} ');
  const { members } = scan(bytes);
  assert.deepEqual(
    members.map((m) => [m.key, m.kind, textOf(bytes, m)]),
    [
      ['a', 'number', '1.0'],
      ['bc', 'object', '{"x":[1, 2]}'],
      ['c', 'number', '12345678901234567890'],
    ],
  );
  const x = findMember(membersOf(bytes, members[1]!), 'x')!;
  assert.deepEqual(
    itemsOf(bytes, x).map((i) => textOf(bytes, i)),
    ['1', '2'],
  );
});

test('members without braces are those of the object they would be', () => {
  const pairs = fc.array(fc.tuple(fc.string(), fc.jsonValue({ maxDepth: 2 })), { maxLength: 4 });
  fc.assert(
    fc.property(pairs, fc.constantFrom('', ' ', '\n\t'), (all, space) => {
      const members = all.map(([k, v]) => `${JSON.stringify(k)}${space}:${space}${JSON.stringify(v)}`);
      const text = `${space}${members.join(`${space},${space}`)}${space}`;
      const shifted = membersIn(bytesOf(text)).map((m) => ({
        ...m,
        ...{ keyStart: m.keyStart + 1, start: m.start + 1, end: m.end + 1 },
      }));
      const whole = bytesOf(`{${text}}`);
      assert.deepEqual(shifted, membersOf(whole, { start: 0, end: whole.length }));
    }),
  );
});

test('a repeated key, __proto__ and depth beyond the limit are refused by name, at any depth', () => {
  const fault = (text: string): string => {
    try {
      scan(bytesOf(text), STRICT);
      return 'accepted';
    } catch (e) {
      return (e as ScanError).fault;
    }
  };
  assert.equal(fault('{"a":1,"a":2}'), 'duplicate-key');
  assert.equal(fault('{"x":[{"a":1,"\\u0061":2}]}'), 'duplicate-key');
  assert.equal(fault('{"x":{"__proto__":{}}}'), 'forbidden-key');
  assert.equal(fault('{"x":{"\\u005f_proto__":{}}}'), 'forbidden-key');
  assert.equal(fault('['.repeat(100) + ']'.repeat(100)), 'too-deep');
  assert.equal(fault('{"a":{"a":1},"b":{"a":1}}'), 'accepted');
});

test('a very deep text ends in a named fault, never in a full stack', () => {
  assert.throws(
    () => scan(bytesOf('['.repeat(5_000_000))),
    (e: unknown) => e instanceof ScanError && e.fault === 'too-deep',
  );
});

test('composition keeps what it does not touch byte for byte', () => {
  const bytes = bytesOf('{"n":1e400, "_meta":{"k":1},"s":"\\u00e9" }');
  const { members } = scan(bytes);
  const rest = membersWithout(bytes, members, (k) => k === '_meta');
  assert.equal(textOf(rest, { start: 0, end: rest.length }), '"n":1e400,"s":"\\u00e9"');
  const whole = objectOf(['"resultType":"complete"', undefined, rest]);
  assert.equal(textOf(whole, { start: 0, end: whole.length }), '{"resultType":"complete","n":1e400,"s":"\\u00e9"}');
  const n = findMember(members, 'n')!;
  const edited = applyEdits(bytes, [{ start: n.start, end: n.end, text: '2' }]);
  assert.equal(textOf(edited, { start: 0, end: edited.length }), '{"n":2, "_meta":{"k":1},"s":"\\u00e9" }');
});
