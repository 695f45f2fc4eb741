// Does the wrapper count what really succeeded? The suite itself passes scenarios against a closed port.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freePort } from '../harness/ports.ts';
import { clientScenarios, judgeClient, runs, unplaced } from './client-leg.ts';
import { surprises } from './expected.ts';
import { judge, requirements, runSuite } from './suite.ts';

describe('the strict count', () => {
  const wire = { id: 'wire-schema-valid', status: 'SUCCESS' } as const;
  const rows = [
    { checks: [wire], verdict: 'hollow', why: 'only the suite has spoken' },
    { checks: [wire, { id: 'own', status: 'WARNING' }], verdict: 'hollow', why: 'a warning is no success' },
    { checks: [wire, { id: 'own', status: 'INFO' }], verdict: 'hollow', why: 'a remark is no success' },
    { checks: [wire, { id: 'own', status: 'SUCCESS' }], verdict: 'pass', why: 'a check of its own succeeded' },
    {
      checks: [
        { id: 'own', status: 'SUCCESS' },
        { ...wire, status: 'FAILURE' },
      ],
      verdict: 'fail',
      why: 'the wire',
    },
    { checks: null, verdict: 'fail', why: 'it left nothing' },
  ] as const;
  for (const { checks, verdict, why } of rows) {
    it(`calls it ${verdict} when ${why}`, () => {
      assert.equal(judge('any', checks).verdict, verdict);
    });
  }

  it('knows what the two revisions require', () => {
    assert.equal(requirements('2025-11-25').required.length, 30);
    assert.equal(requirements('2026-07-28').required.length, 37);
    assert.ok(requirements('2026-07-28').extra.includes('http-custom-header-server-validation'));
  });

  it('gives nothing to a closed port, in either revision', async () => {
    const url = `http://127.0.0.1:${await freePort()}/mcp`;
    const runs = await Promise.all([runSuite(url, '2025-11-25'), runSuite(url, '2026-07-28')]);
    assert.deepEqual(
      runs.flat().filter(({ verdict }) => verdict === 'pass'),
      [],
    );
  });

  it('complains of an unexpected failure, an unexpected pass and a name nobody runs', () => {
    const results = [judge('breaks', null), judge('works', [{ id: 'own', status: 'SUCCESS' }])];
    const found = surprises(
      results,
      new Map([
        ['works', 'why'],
        ['gone', 'why'],
      ]),
    );
    assert.deepEqual(
      found.failed.map(({ name }) => name),
      ['breaks'],
    );
    assert.deepEqual(found.passed, ['works']);
    assert.deepEqual(found.unknown, ['gone']);
  });
});

describe('the client leg', () => {
  it('has a drive or a reason for each client scenario of the suite, and runs what applies in every era it has', () => {
    const names = clientScenarios();
    assert.ok(names.length >= 48);
    assert.deepEqual(unplaced(names), []);
    assert.deepEqual(unplaced(['auth/new', 'sep-9999-new']), ['sep-9999-new']);
    const of = (revision: string, client: string) =>
      runs().filter((run) => run.revision === revision && run.client === client).length;
    assert.deepEqual([of('2025-11-25', 'legacy'), of('2025-11-25', 'modern')], [5, 5]);
    assert.deepEqual([of('2026-07-28', 'legacy'), of('2026-07-28', 'modern')], [8, 7]);
  });

  it('calls a warning and a driver that failed a failure, as the suite does', () => {
    const own = { id: 'own', status: 'SUCCESS' } as const;
    assert.equal(judgeClient('any', [own], 0).verdict, 'pass');
    assert.equal(judgeClient('any', [own, { id: 'late', status: 'WARNING' }], 0).verdict, 'fail');
    assert.equal(judgeClient('any', [own], 1).verdict, 'fail');
    assert.equal(judgeClient('any', [{ id: 'wire-schema-valid', status: 'SUCCESS' }], 0).verdict, 'hollow');
    assert.equal(judgeClient('any', null, 0).verdict, 'fail');
  });
});
