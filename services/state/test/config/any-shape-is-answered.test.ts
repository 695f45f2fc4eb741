// Can any YAML make the loader fail in another way than by telling faults?

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { ConfigError } from '../../src/config/faults.ts';
import { loadConfig } from '../../src/config/load.ts';
import { makeFolder, SAMPLE } from './sample.ts';

const folder = makeFolder({ 'jwks.json': '{"keys":[]}' });
after(() => folder.remove());

/** Either a snapshot, or faults with places. */
function answered(text: string): void {
  const file = folder.write('lockkeeper.yaml', text);
  try {
    loadConfig(file, {});
  } catch (error) {
    assert.ok(
      error instanceof ConfigError,
      `not a ConfigError: ${error instanceof Error ? error.stack : error}\n${text}`,
    );
    assert.ok(error.faults.length > 0);
    for (const { line, column, words } of error.faults) assert.ok(line >= 1 && column >= 1 && words.length > 10);
  }
}

/** Replaces what stands at one of the places of `data` by `value`. */
function withAt(data: unknown, place: number, value: unknown): unknown {
  let left = place;
  const visit = (at: unknown): unknown => {
    if (left-- === 0) return value;
    if (Array.isArray(at)) return at.map(visit);
    if (typeof at !== 'object' || at === null) return at;
    return Object.fromEntries(Object.entries(at).map(([key, inner]) => [key, visit(inner)]));
  };
  return visit(data);
}

test('anything in the place of anything is answered', () => {
  const odd = fc.oneof(
    fc.constantFrom(
      null,
      [],
      {},
      [null],
      [[]],
      { name: null },
      '',
      '*',
      '/mcp',
      '${env:X}',
      '${file:.}',
      0,
      -1,
      1e300,
      true,
    ),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const property = fc.property(fc.nat(70), odd, (place, value) =>
    answered(stringify(withAt(parse(SAMPLE), place, value))),
  );
  fc.assert(property, { numRuns: 300 });
});

test('any text is answered', () => {
  const pieces = fc.constantFrom(
    'auth',
    ':',
    ' ',
    '\n',
    '- ',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '&a',
    '*a',
    '|',
    '#',
    '!',
    '?',
    '\t',
    'x',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (text) => answered(text.join(''))),
    { numRuns: 300 },
  );
});
