// What is made of an HTTP status without an answer in its body? (protocol.md §4.2 "Not evidence", Part 6 #32)

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failureOfStatus } from '../../../src/remote/reply/status.ts';

const NOW = Date.parse('2026-11-30T12:00:00Z');
const of = (status: number, headers: Record<string, string> = {}) =>
  failureOfStatus({ status, headers: new Map(Object.entries(headers)), now: NOW });

describe('what a status means', () => {
  const cases: readonly (readonly [number, string, boolean])[] = [
    [401, 'denied', false],
    [403, 'denied', false],
    [429, 'busy', false],
    [400, 'lost', false],
    [404, 'lost', false],
    [405, 'lost', false],
    [408, 'lost', true],
    [413, 'lost', false],
    [202, 'lost', true],
    [500, 'lost', true],
    [502, 'lost', true],
    [503, 'lost', true],
    [504, 'lost', true],
  ];
  for (const [status, kind, mayHaveRun] of cases) {
    it(`${status}: ${kind}, ${mayHaveRun ? 'may have run' : 'has not run'}`, () => {
      const failure = of(status);
      assert.deepEqual([failure.kind, failure.mayHaveRun, failure.status], [kind, mayHaveRun, status]);
      assert.match(failure.words, new RegExp(`HTTP ${status}`));
    });
  }

  it('401 and 403 say what the operator must do, and whose credentials they are', () => {
    assert.match(of(401).words, /Lockkeeper's credentials .* operator must set valid ones/);
    assert.match(of(403).words, /operator must give them the right/);
  });

  const waits: readonly (readonly [string | undefined, number])[] = [
    ['7', 7_000],
    ['Mon, 30 Nov 2026 12:00:09 GMT', 9_000],
    ['Mon, 30 Nov 2026 11:00:00 GMT', 0],
    ['999999', 3_600_000],
    ['soon', 5_000],
    [undefined, 5_000],
  ];
  for (const [value, ms] of waits) {
    it(`429 with retry-after ${value}: ${ms} ms`, () => {
      assert.equal(of(429, value === undefined ? {} : { 'retry-after': value }).retryAfterMs, ms);
    });
  }

  it('503 that says when to come back has not taken the request', () => {
    const { kind, retryAfterMs, mayHaveRun } = of(503, { 'retry-after': '2' });
    assert.deepEqual([kind, retryAfterMs, mayHaveRun], ['busy', 2_000, false]);
  });
});
