// Names that only Lockkeeper or the protocol may set end at the node, whoever sends them (design §4, §8; protocol.md
// Part 6 #39). Everything else passes as it stands.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesOf } from '@lockkeeper/protocol/json/compose';
import { scan, textOf } from '@lockkeeper/protocol/json/scan';
import { isEnvelope, keep, vendorMeta } from '../../src/raise/result/split.ts';

const line = bytesOf(
  '{"content":[],"_meta":{"lockkeeper/reason":"lost","lockkeeper/exchange":"x","lk/origin":1,' +
    '"io.modelcontextprotocol/serverInfo":{},"vendor/key":12345678901234567890},"requestState":"bare","lk/era":"modern",' +
    '"resultType":"complete","unknown":1.0}',
);
const { members } = scan(line);

test('a forged reason, exchange id or origin in _meta does not pass; a vendor key does, byte for byte', () => {
  assert.equal(vendorMeta(line, members), '"vendor/key":12345678901234567890');
});

test('a bare requestState and lk members are no result members; unknown ones are', () => {
  const rest = keep(line, members, isEnvelope);
  assert.equal(textOf(rest, { start: 0, end: rest.length }), '"content":[],"unknown":1.0');
});
