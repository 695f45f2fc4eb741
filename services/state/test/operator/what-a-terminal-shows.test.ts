// The list as an operator reads it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { processTable } from '../../src/operator/table.ts';

const ROW = {
  ...{
    id: 'x-1',
    tenant: 'acme',
    server: 's',
    era: 'legacy',
    state: 'busy',
    retiring: null,
    ageMs: 61_000,
    idleMs: null,
  },
  ...{ uses: 3, leases: 1, memoryBytes: 31_457_280, cpuPercent: 100, spinning: true, pid: 42 },
};

test('columns stand under each other, whatever is in them', () => {
  const other = { ...ROW, id: 'x-10', retiring: 'too old', ageMs: 7_200_000, idleMs: 300_000, spinning: false };
  assert.deepEqual(processTable([ROW, other]).split('\n'), [
    'ID    TENANT  SERVER  ERA     STATE          AGE  IDLE  USES  LEASES  MEMORY  CPU         PID',
    'x-1   acme    s       legacy  busy           61s        3     1       30 MB   100% spins  42',
    'x-10  acme    s       legacy  busy, leaving  2h   5m    3     1       30 MB   100%        42',
  ]);
});

test('what is not known yet, or never will be, is left empty', () => {
  const lines = processTable([{ id: 'x-1', era: null, retiring: null, memoryBytes: null, cpuPercent: null }]).split(
    '\n',
  );
  assert.equal(lines[1]?.trim(), 'x-1');
});

test('nothing can speak to the terminal itself', () => {
  assert.ok(!processTable([{ ...ROW, server: '\u001b[31mred' }]).includes('\u001b'));
});
