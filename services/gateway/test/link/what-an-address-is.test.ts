import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress } from '../../src/link/dial.ts';

const rows: readonly (readonly [string, ReturnType<typeof parseAddress>])[] = [
  ['127.0.0.1:4000', { host: '127.0.0.1', port: 4000 }],
  ['pool-0.pool.svc:4000', { host: 'pool-0.pool.svc', port: 4000 }],
  ['[::1]:4000', { host: '::1', port: 4000 }],
  ['unix:/run/lk.sock', { path: '/run/lk.sock' }],
  ['4000', null],
  [':4000', null],
  ['host:', null],
  ['host:0', null],
  ['host:70000', null],
  ['host:4000x', null],
];

for (const [address, target] of rows) {
  test(`${address} is ${target === null ? 'refused' : 'dialled'}`, () =>
    assert.deepEqual(parseAddress(address), target));
}
