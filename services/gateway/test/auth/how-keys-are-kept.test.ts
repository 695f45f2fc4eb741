// An issuer's keys from file and URI: rotation, floods, outages (auth-security.md RS-15, T-23; GB-109 "kid rotation").

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { parseKeySet } from '../../src/auth/key-set.ts';
import { createKeys, type Keys } from '../../src/auth/keys.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { type Rig, recordingLog } from '../http/rig.ts';
import { ecKey, issuerOf, type JwksFile, type JwksHost, jwksFile, jwksHost, jwksOf, rsaKey } from './issuer.ts';

const one = ecKey('one');
const two = ecKey('two');
let host: JwksHost;
let file: JwksFile;
let time = 0;
let logged: Rig['logged'];

beforeEach(async () => {
  time = 1_000_000;
  logged = [];
  host = await jwksHost(await jwksOf(one));
  file = jwksFile(await jwksOf(one));
});
afterEach(async () => {
  await host.close();
  file.remove();
});

function keysFrom(source: { uri: string } | { file: string }): Keys {
  const metrics = createMetrics({ processMetrics: false });
  return createKeys(issuerOf(source), { now: () => time, log: recordingLog(logged), metrics });
}

const kindOf = async (keys: Keys, kid: string) => (await keys.find(kid, 'ES256')).kind;

test('URI: fetched once, however many ask at once, and kept for ten minutes', async () => {
  const keys = keysFrom(host);
  const found = await Promise.all(Array.from({ length: 20 }, () => kindOf(keys, 'one')));
  assert.deepEqual(new Set(found), new Set(['key']));
  assert.equal(host.fetches, 1);
  time += 9 * 60_000;
  await kindOf(keys, 'one');
  assert.equal(host.fetches, 1);
  time += 2 * 60_000;
  await kindOf(keys, 'one');
  assert.equal(host.fetches, 2);
});

test('URI: an unknown kid makes one fetch more, and then works', async () => {
  const keys = keysFrom(host);
  await kindOf(keys, 'one');
  time += 31_000;
  host.respond = async (response) => response.end(JSON.stringify(await jwksOf(one, two)));
  assert.equal(await kindOf(keys, 'two'), 'key');
  assert.equal(host.fetches, 2);
});

test('T-23: a thousand unknown kids are at most two fetches', async () => {
  const keys = keysFrom(host);
  for (let i = 0; i < 1000; i++) assert.equal(await kindOf(keys, `flood-${i}`), 'unknown');
  assert.ok(host.fetches <= 2, String(host.fetches));
});

test('URI: away from the start it is unreadable, and tried again after the cooldown only', async () => {
  const good = host.respond;
  host.respond = (response) => response.writeHead(500).end();
  const keys = keysFrom(host);
  const first = await keys.find('one', 'ES256');
  assert.deepEqual(first, { kind: 'unreadable', retryAfterMs: 30_000 });
  await kindOf(keys, 'one');
  assert.equal(host.fetches, 1);
  host.respond = good;
  time += 30_000;
  assert.equal(await kindOf(keys, 'one'), 'key');
});

test('URI: away later, known keys go on for a while and unknown ones are unreadable, not wrong', async () => {
  const keys = keysFrom(host);
  await kindOf(keys, 'one');
  host.respond = (response) => response.writeHead(503).end();
  time += 11 * 60_000;
  assert.equal(await kindOf(keys, 'one'), 'key');
  assert.equal(await kindOf(keys, 'two'), 'unreadable');
  time += 60 * 60_000;
  assert.equal(await kindOf(keys, 'one'), 'unreadable');
});

const BAD_ANSWERS: readonly [string, (response: import('node:http').ServerResponse) => void][] = [
  ['a redirect', (r) => r.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
  ['more than 256 KiB', (r) => r.end(`{"keys":[],"pad":"${'x'.repeat(300 * 1024)}"}`)],
  ['no JSON', (r) => r.end('<html>')],
  ['no list', (r) => r.end('{"keys":{}}')],
];
for (const [says, respond] of BAD_ANSWERS) {
  test(`URI: ${says} is unreadable`, async () => {
    host.respond = respond;
    assert.equal(await kindOf(keysFrom(host), 'one'), 'unreadable');
    assert.equal(logged[0]?.event, 'keys of an issuer cannot be read');
  });
}

test('URI: plain http is for loopback only', async () => {
  assert.equal(await kindOf(keysFrom({ uri: 'http://idp.example.invalid/jwks' }), 'one'), 'unreadable');
});

test('file: read again when it changes', async () => {
  const keys = keysFrom({ file: file.path });
  assert.equal(await kindOf(keys, 'two'), 'unknown');
  file.write(await jwksOf(two, rsaKey('r', 2048)));
  time += 1_000;
  assert.deepEqual([await kindOf(keys, 'two'), await kindOf(keys, 'one')], ['key', 'unknown']);
});

test('file: half written it is unreadable for unknown keys and good for known ones', async () => {
  const keys = keysFrom({ file: file.path });
  assert.equal(await kindOf(keys, 'one'), 'key');
  file.write('{"keys":[');
  time += 1_000;
  assert.equal(await kindOf(keys, 'one'), 'key');
  assert.equal(await kindOf(keys, 'two'), 'unreadable');
});

test('a set: one kid twice is refused, what is no signing key is passed over', async () => {
  const [jwk] = (await jwksOf(one)).keys;
  assert.throws(() => parseKeySet(JSON.stringify({ keys: [jwk, jwk] })), /kid is used twice/);
  const odd = [
    { kty: 'oct', k: 'AAAA', kid: 'o' },
    { ...jwk, kid: undefined },
    { ...jwk, kid: 'enc', use: 'enc' },
    { ...jwk, kid: 'sign', key_ops: ['sign'] },
    { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', kid: 'broken' },
    5,
    null,
  ];
  assert.equal(parseKeySet(JSON.stringify({ keys: [...odd, jwk] })).size, 1);
});

test('a key is found for its own algorithm only', async () => {
  const set = parseKeySet(JSON.stringify(await jwksOf(one, rsaKey('r', 2048))));
  assert.ok(set.find('one', 'ES256') !== null);
  assert.equal(set.find('one', 'ES384'), null);
  assert.equal(set.find('r', 'ES256'), null);
  assert.equal(set.find('r', 'PS256'), null, 'the set says RS256');
});
