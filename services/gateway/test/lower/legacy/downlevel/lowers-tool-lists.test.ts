// Does a tool list fit the revision of the client that reads it? (protocol.md §1.6, §5.9)

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concat } from '@lockkeeper/protocol/json/compose';
import { lowerResult } from '../../../../src/lower/legacy/downlevel/result.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function lower(method: string, revision: string, members: string, meta?: string): string {
  return decoder.decode(concat(lowerResult(method, revision, encoder.encode(members), meta)));
}

function lowerTool(revision: string, tool: string): string {
  const text = lower('tools/list', revision, `"tools":[${tool}],"ttlMs":5,"cacheScope":"private"`);
  return text.slice('{"tools":['.length, -']}'.length);
}

const PLAIN = '{"name":"t","inputSchema":{"type":"object"}}';

const FIELDS: readonly [id: string, revision: string, tool: string, expected: string][] = [
  ['title stays from 2025-06-18 on', '2025-06-18', '{"name":"t","title":"T"}', '{"name":"t","title":"T"}'],
  [
    'title moves into annotations',
    '2025-03-26',
    '{"name":"t","title":"T"}',
    '{"name":"t","annotations":{"title":"T"}}',
  ],
  [
    'title joins other annotations',
    '2025-03-26',
    '{"name":"t","title":"T","annotations":{"readOnlyHint":true}}',
    '{"name":"t","annotations":{"readOnlyHint":true,"title":"T"}}',
  ],
  [
    'an annotation title of its own wins',
    '2025-03-26',
    '{"name":"t","title":"T","annotations":{"title":"own"}}',
    '{"name":"t","annotations":{"title":"own"}}',
  ],
  [
    'an empty annotation title is filled',
    '2025-03-26',
    '{"name":"t","title":"T","annotations":{"title":""}}',
    '{"name":"t","annotations":{"title":"T"}}',
  ],
  [
    'the oldest has neither titles nor annotations',
    '2024-11-05',
    '{"name":"t","title":"T","annotations":{"title":"own"},"_meta":{"a/b":1}}',
    '{"name":"t"}',
  ],
  ['icons go before 2025-11-25', '2025-06-18', '{"name":"t","icons":[{"src":"data:"}]}', '{"name":"t"}'],
  ['icons stay in 2025-11-25', '2025-11-25', '{"name":"t","icons":[]}', '{"name":"t","icons":[]}'],
  ['execution goes everywhere', '2025-11-25', '{"name":"t","execution":{"taskSupport":"optional"}}', '{"name":"t"}'],
  [
    'an object outputSchema stays',
    '2025-11-25',
    '{"outputSchema":{"type":"object"}}',
    '{"outputSchema":{"type":"object"}}',
  ],
  [
    'any outputSchema goes before 2025-06-18',
    '2025-03-26',
    '{"name":"t","outputSchema":{"type":"object"}}',
    '{"name":"t"}',
  ],
];

for (const [id, revision, tool, expected] of FIELDS) {
  test(`${revision}: ${id}`, () => assert.equal(lowerTool(revision, tool), expected));
}

const SCHEMAS: readonly [id: string, schema: string, expected: string | null][] = [
  [
    'an array is wrapped',
    '{"type":"array","items":{"type":"string"}}',
    '{"type":"object","properties":{"result":{"type":"array","items":{"type":"string"}}},"required":["result"]}',
  ],
  [
    '$defs move to the root and local references follow',
    '{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"array","items":{"$ref":"#/$defs/n"},' +
      '"$defs":{"n":{"anyOf":[{"$ref":"#"},{"$ref":"#/items"},{"type":"null"}]}}}',
    '{"type":"object","properties":{"result":{"type":"array","items":{"$ref":"#/$defs/n"}}},"required":["result"],' +
      '"$schema":"https://json-schema.org/draft/2020-12/schema",' +
      '"$defs":{"n":{"anyOf":[{"$ref":"#/properties/result"},{"$ref":"#/properties/result/items"},{"type":"null"}]}}}',
  ],
  [
    'data, names and foreign bases are no references',
    '{"type":"array","const":[{"$ref":"#"}],"items":{"properties":{"$ref":{"$ref":"#"}},"not":{"$id":"x:y","$ref":"#"}}}',
    '{"type":"object","properties":{"result":{"type":"array","const":[{"$ref":"#"}],"items":{"properties":{"$ref":' +
      '{"$ref":"#/properties/result"}},"not":{"$id":"x:y","$ref":"#"}}}},"required":["result"]}',
  ],
  ['an absolute reference stays', '{"type":"null","$ref":"https://x/y#/z"}', 'https://x/y#/z'],
  [
    'a reference to an object is told to be one',
    '{"$ref":"#/$defs/N","$defs":{"N":{"type":"object"}}}',
    '{"$ref":"#/$defs/N","$defs":{"N":{"type":"object"}},"type":"object"}',
  ],
  ['a schema that may or may not be an object goes', '{"anyOf":[{"type":"object"},{"type":"array"}]}', null],
  ['a dangling reference goes (GB-137)', '{"$ref":"#/$defs/Missing"}', null],
  ['a boolean schema goes', 'true', null],
  ['a list of types without object is wrapped', '{"type":["string","null"]}', '"result":{"type":["string","null"]}'],
  ['a list of types with object goes', '{"type":["object","null"]}', null],
];

for (const [id, schema, expected] of SCHEMAS) {
  for (const revision of ['2025-06-18', '2025-11-25']) {
    test(`${revision}: outputSchema: ${id}`, () => {
      const got = lowerTool(revision, `{"name":"t","outputSchema":${schema}}`);
      if (expected === null) assert.equal(got, '{"name":"t"}');
      else if (expected.startsWith('{')) assert.equal(got, `{"name":"t","outputSchema":${expected}}`);
      else assert.ok(got.includes(expected), got);
    });
  }
}

test('GB-137: one odd schema costs no other tool', () => {
  const got = lower(
    'tools/list',
    '2025-11-25',
    `"tools":[${PLAIN},{"name":"bad","outputSchema":{"$ref":"#/$defs/No"}},${PLAIN}]`,
  );
  assert.equal(got, `{"tools":[${PLAIN},{"name":"bad"},${PLAIN}]}`);
});

test('GB-091, GB-136: what the newest revision knows passes byte for byte', () => {
  const tool =
    '{"name":"t","title":"T","icons":[{"src":"https://x/i.png"}],"annotations":{"readOnlyHint":true,"x-vendor":1},' +
    '"inputSchema":{"type":"object","$defs":{"a/b":{"$ref":"#/$defs/a~1b"}},"unevaluatedProperties":false},' +
    '"outputSchema":{"type":"object", "properties":{"n":{"const":12345678901234567890}}},"_meta":{"com.example/cost":3},' +
    '"unknownFuture":{"a":1.0}}';
  assert.equal(lowerTool('2025-11-25', tool), tool);
});

const LISTED: readonly [method: string, revision: string, members: string, expected: string][] = [
  [
    'resources/list',
    '2025-03-26',
    '"resources":[{"uri":"a:b","name":"n","title":"T","size":3,"_meta":{},"icons":[],"annotations":{"priority":1.0,"lastModified":"x"}}]',
    '{"resources":[{"uri":"a:b","name":"n","size":3,"annotations":{"priority":1.0}}]}',
  ],
  [
    'resources/list',
    '2025-06-18',
    '"resources":[{"uri":"a:b","title":"T","_meta":{},"icons":[],"annotations":{"lastModified":"x"}}],"nextCursor":""',
    '{"resources":[{"uri":"a:b","title":"T","_meta":{},"annotations":{"lastModified":"x"}}],"nextCursor":""}',
  ],
  [
    'resources/templates/list',
    '2024-11-05',
    '"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n","title":"T"}]',
    '{"resourceTemplates":[{"uriTemplate":"a:{b}","name":"n"}]}',
  ],
  [
    'prompts/list',
    '2025-03-26',
    '"prompts":[{"name":"p","title":"P","arguments":[{"name":"a","title":"A","required":true}]}],"cacheScope":"public","ttlMs":0',
    '{"prompts":[{"name":"p","arguments":[{"name":"a","required":true}]}]}',
  ],
  [
    'prompts/list',
    '2025-11-25',
    '"prompts":[{"name":"p","title":"P","arguments":[{"name":"a","title":"A"}]}]',
    '{"prompts":[{"name":"p","title":"P","arguments":[{"name":"a","title":"A"}]}]}',
  ],
];

for (const [method, revision, members, expected] of LISTED) {
  test(`${revision}: ${method} holds only fields it knows`, () =>
    assert.equal(lower(method, revision, members), expected));
}
