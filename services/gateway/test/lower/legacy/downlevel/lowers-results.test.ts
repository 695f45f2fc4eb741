// Does a result fit the revision of the client that asked, and is everything else untouched? (protocol.md §5.3, §5.9)

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { concat } from '@lockkeeper/protocol/json/compose';
import { lowerResult } from '../../../../src/lower/legacy/downlevel/result.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];

function lower(method: string, revision: string, members: string, meta?: string): string {
  return decoder.decode(concat(lowerResult(method, revision, encoder.encode(members), meta)));
}

const call = (revision: string, members: string) => lower('tools/call', revision, members);

const TEXT = '{"type":"text","text":"6 items"}';

const STRUCTURED: readonly [id: string, revision: string, members: string, expected: string][] = [
  [
    'an object passes',
    '2025-11-25',
    `"content":[${TEXT}],"structuredContent":{"a":null}`,
    `{"content":[${TEXT}],"structuredContent":{"a":null}}`,
  ],
  [
    'an array is wrapped',
    '2025-06-18',
    `"content":[${TEXT}],"structuredContent":[1,{"a":null}]`,
    `{"content":[${TEXT}],"structuredContent":{"result":[1,{"a":null}]}}`,
  ],
  [
    'null is wrapped',
    '2025-11-25',
    '"content":[],"structuredContent":null',
    '{"content":[],"structuredContent":{"result":null}}',
  ],
  [
    'before 2025-06-18 it becomes text when no text has it',
    '2025-03-26',
    `"content":[${TEXT}],"structuredContent":{"n":12345678901234567890}`,
    `{"content":[${TEXT},{"type":"text","text":"{\\"n\\":12345678901234567890}"}]}`,
  ],
  [
    'and is only dropped when a text has it already',
    '2025-03-26',
    '"content":[{"type":"text","text":"{ \\"n\\": 1 }"}],"structuredContent":{"n":1}',
    '{"content":[{"type":"text","text":"{ \\"n\\": 1 }"}]}',
  ],
  [
    'content is never missing (GB-097)',
    '2025-11-25',
    '"structuredContent":{"a":1}',
    '{"structuredContent":{"a":1},"content":[]}',
  ],
  [
    'nor for the oldest',
    '2024-11-05',
    '"structuredContent":{"a":1}',
    '{"content":[{"type":"text","text":"{\\"a\\":1}"}]}',
  ],
  ['an empty result gets content', '2025-11-25', '', '{"content":[]}'],
];

for (const [id, revision, members, expected] of STRUCTURED) {
  test(`${revision}: structuredContent: ${id}`, () => assert.equal(call(revision, members), expected));
}

test('GB-090: a failed call keeps its structured content and its empty content', () => {
  const members = '"content":[],"structuredContent":{"code":"RATE_LIMITED","retry_after":30},"isError":true';
  assert.equal(
    lower('tools/call', '2025-11-25', members, '"com.example/trace":"t1"'),
    `{${members},"_meta":{"com.example/trace":"t1"}}`,
  );
});

test('GB-089: unknown members and big numbers pass as they are', () => {
  const members = `"content":[${TEXT}],"structuredContent":{"n":1.0,"big":12345678901234567890}, "vendorField" : true`;
  assert.equal(call('2025-11-25', members), `{${members}}`);
});

const AUDIO = '{"type":"audio","data":"AA==","mimeType":"audio/wav","annotations":{"priority":1,"lastModified":"x"}}';
const LINK = '{"type":"resource_link","uri":"file:///a","name":"a","title":"A file"}';
const EMBEDDED = '{"type":"resource","resource":{"uri":"a:b","text":"t","_meta":{"k/v":1}}}';
const ODD = '{"type":"hologram","x":1}';

const BLOCKS: readonly [id: string, revision: string, block: string, expected: string][] = [
  [
    'audio becomes words in the oldest',
    '2024-11-05',
    AUDIO,
    '{"type":"text","text":"[audio, audio/wav: this client\'s protocol revision cannot carry audio]","annotations":{"priority":1}}',
  ],
  ['audio stays later', '2025-03-26', AUDIO, AUDIO.replace(',"lastModified":"x"', '')],
  ['a link becomes words before 2025-06-18', '2025-03-26', LINK, '{"type":"text","text":"A file <file:///a>"}'],
  ['a link stays later', '2025-06-18', LINK, LINK],
  [
    'a link loses icons before 2025-11-25',
    '2025-06-18',
    '{"type":"resource_link","uri":"a:b","name":"n","icons":[]}',
    '{"type":"resource_link","uri":"a:b","name":"n"}',
  ],
  [
    'an embedded resource loses _meta',
    '2025-03-26',
    EMBEDDED,
    '{"type":"resource","resource":{"uri":"a:b","text":"t"}}',
  ],
  ['and keeps it later', '2025-06-18', EMBEDDED, EMBEDDED],
  ['an unknown block passes (GB-092)', '2024-11-05', ODD, ODD],
  [
    'an image passes',
    '2024-11-05',
    '{"type":"image","data":"AA==","mimeType":"image/png"}',
    '{"type":"image","data":"AA==","mimeType":"image/png"}',
  ],
];

for (const [id, revision, block, expected] of BLOCKS) {
  test(`${revision}: content: ${id}`, () => {
    assert.equal(call(revision, `"content":[${TEXT},${block}]`), `{"content":[${TEXT},${expected}]}`);
    const message = (b: string) => `"messages":[{"role":"user","content":${b}}]`;
    assert.equal(lower('prompts/get', revision, message(block)), `{${message(expected)}}`);
  });
}

test('GB-092: order and members of mixed content stay', () => {
  const members = `"content":[${TEXT},${ODD},{"type":"text","text":""},${LINK},${AUDIO}]`;
  assert.equal(call('2025-11-25', members), `{${members}}`);
});

for (const revision of REVISIONS) {
  test(`${revision}: fields of the modern envelope are gone`, () => {
    const read = lower(
      'resources/read',
      revision,
      '"contents":[],"ttlMs":0,"cacheScope":"private"',
      '"io.modelcontextprotocol/serverInfo":{"name":"x"},"a/b":1',
    );
    assert.equal(read, '{"contents":[],"_meta":{"a/b":1}}');
    const only = lower('tools/list', revision, '"ttlMs":1,"tools":[]', '"io.modelcontextprotocol/subscriptionId":1');
    assert.equal(only, '{"tools":[]}');
  });

  test(`${revision}: a field of that name in another result is its owner's`, () => {
    assert.equal(call(revision, '"content":[],"ttlMs":7'), '{"content":[],"ttlMs":7}');
    assert.equal(
      lower('completion/complete', revision, '"completion":{"values":[]},"ttlMs":7'),
      '{"completion":{"values":[]},"ttlMs":7}',
    );
  });

  test(`${revision}: isError stays what it is`, () => {
    assert.equal(call(revision, `"content":[${TEXT}],"isError":true`), `{"content":[${TEXT}],"isError":true}`);
  });
}

test('contents lose _meta before 2025-06-18 only', () => {
  const members = '"contents":[{"uri":"a:b","text":"t","_meta":{"k/v":1}}]';
  assert.equal(lower('resources/read', '2025-03-26', members), '{"contents":[{"uri":"a:b","text":"t"}]}');
  assert.equal(lower('resources/read', '2025-06-18', members), `{${members}}`);
});
