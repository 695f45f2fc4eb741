import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSealRing, type RingKeys, type SealFault } from '../../src/seal/ring.ts';

const OLD = { kid: 'old', key: 'o'.repeat(32) };
const NEW = { kid: 'new', key: 'n'.repeat(32) };
const HERE = { tenant: 'acme', route: '/acme/mcp' };

function ringOf(keys: RingKeys, at = 1000) {
  const faults: SealFault[] = [];
  const time = { now: at };
  const ring = createSealRing({ keys, now: () => time.now, refused: (_kind, why) => void faults.push(why) });
  return { ring, faults, time };
}

test('what one replica seals another opens, as it was', () => {
  const value = { n: 1, s: 'é"\\', deep: [null, { a: true }] };
  const sealed = ringOf({ keys: [OLD] }).ring.seal('cursor', value, HERE, 1000)!;
  assert.match(sealed, /^lk1\.old\.[A-Za-z0-9_-]+$/);
  assert.deepEqual(ringOf({ keys: [OLD] }).ring.open('cursor', sealed, HERE), value);
});

test('the same value never gives the same seal', () => {
  const { ring } = ringOf({ keys: [OLD] });
  assert.notEqual(ring.seal('cursor', 1, HERE, 1000), ring.seal('cursor', 1, HERE, 1000));
});

test('T-31: a seal with any one character changed, cut or added does not open', () => {
  const { ring } = ringOf({ keys: [OLD, NEW] });
  const sealed = ring.seal('state', { secret: 'x' }, HERE, 1000)!;
  for (let i = 0; i < sealed.length; i++) {
    for (const other of ['A', 'b', '-', '.', '=', '%', 'é']) {
      if (sealed[i] === other) continue;
      assert.equal(ring.open('state', sealed.slice(0, i) + other + sealed.slice(i + 1), HERE), null, `${i} ${other}`);
    }
  }
  for (const bad of [
    '',
    '.',
    'lk1',
    'lk1..',
    'lk1.old.',
    'lk1.old.AAAA',
    sealed.slice(0, -1),
    `${sealed}A`,
    ` ${sealed}`,
  ]) {
    assert.equal(ring.open('state', bad, HERE), null, bad);
  }
  assert.equal(ring.open('state', 'x'.repeat(1_000_000), HERE), null);
});

test('a seal opens only for its kind, tenant and route', () => {
  const { ring, faults } = ringOf({ keys: [OLD] });
  const sealed = ring.seal('cursor/tools', 1, HERE, 1000)!;
  assert.equal(ring.open('cursor/prompts', sealed, HERE), null);
  assert.equal(ring.open('cursor/tools', sealed, { ...HERE, tenant: 'globex' }), null);
  assert.equal(ring.open('cursor/tools', sealed, { ...HERE, route: '/acme/other/mcp' }), null);
  assert.deepEqual(faults, ['tampered', 'tampered', 'tampered']);
  assert.equal(ring.open('cursor/tools', sealed, HERE), 1);
});

test('a seal ends when its time is over', () => {
  const { ring, faults, time } = ringOf({ keys: [OLD] });
  const sealed = ring.seal('cursor', 1, HERE, 500)!;
  time.now += 499;
  assert.equal(ring.open('cursor', sealed, HERE), 1);
  time.now += 1;
  assert.equal(ring.open('cursor', sealed, HERE), null);
  assert.deepEqual(faults, ['expired']);
});

test('GB-058: a new key opens everywhere before any replica seals with it, and old seals outlive the change', () => {
  const before = ringOf({ keys: [OLD] }).ring;
  const prepared = ringOf({ keys: [OLD, NEW], sealWith: 'old' }).ring;
  const switched = ringOf({ keys: [OLD, NEW], sealWith: 'new' }).ring;
  const early = before.seal('state', 'early', HERE, 1000)!;
  const late = switched.seal('state', 'late', HERE, 1000)!;
  assert.equal(switched.open('state', early, HERE), 'early');
  assert.equal(prepared.open('state', late, HERE), 'late');
  assert.match(prepared.seal('state', 1, HERE, 1000)!, /^lk1\.old\./);
  const retired = ringOf({ keys: [NEW] });
  assert.equal(retired.ring.open('state', early, HERE), null);
  assert.deepEqual(retired.faults, ['unknown-key']);
});

test('the first key seals when none is named, and rekey swaps them all at once', () => {
  const { ring } = ringOf({ keys: [OLD, NEW] });
  const sealed = ring.seal('state', 1, HERE, 1000)!;
  assert.match(sealed, /^lk1\.old\./);
  ring.rekey({ keys: [NEW] });
  assert.equal(ring.open('state', sealed, HERE), null);
});

test('unfit keys are refused with the setting named, and the ring in use stays', () => {
  const { ring } = ringOf({ keys: [OLD] });
  const sealed = ring.seal('state', 1, HERE, 1000)!;
  assert.throws(() => ring.rekey({ keys: [] }), /seal\.keys/);
  assert.throws(() => ring.rekey({ keys: [{ kid: 'a', key: 'short' }] }), /shorter than 32/);
  assert.throws(() => ring.rekey({ keys: [OLD, OLD] }), /twice/);
  assert.throws(() => ring.rekey({ keys: [{ kid: 'a.b', key: OLD.key }] }), /kid "a\.b"/);
  assert.throws(() => ring.rekey({ keys: [OLD], sealWith: 'new' }), /seal\.sealWith/);
  assert.equal(ring.open('state', sealed, HERE), 1);
});

test('the same key text of two tenants makes two keys', () => {
  const { ring } = ringOf({ keys: [OLD] });
  const sealed = ring.seal('state', 1, { tenant: 'a', route: '/r' }, 1000)!;
  assert.equal(ring.open('state', sealed, { tenant: 'b', route: '/r' }), null);
});

test('a value beyond the cap is not sealed', () => {
  const small = createSealRing({ keys: { keys: [OLD] }, now: () => 0, maxChars: 200 });
  assert.equal(small.seal('state', 'x'.repeat(400), HERE, 1000), null);
  assert.notEqual(small.seal('state', 'x', HERE, 1000), null);
});
