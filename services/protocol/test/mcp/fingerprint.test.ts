// What a process is told its client can (design §5), and the keys that decide who may share one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Isolation, type KeyParts, ownerKey, poolKey } from '@lockkeeper/protocol/link/keys';
import { covers, fingerprintOf, missing, projectCapabilities } from '@lockkeeper/protocol/mcp/fingerprint';

const ask = { roots: 'caller', sampling: 'caller', elicitation: 'caller' } as const;
const all = {
  roots: { listChanged: true },
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
  tasks: {},
  experimental: { x: 1 },
};

test('each row of the projection', () => {
  const rows: [string, Parameters<typeof projectCapabilities>, string][] = [
    [
      'all',
      [all, ask, 'user', '2025-11-25'],
      'roots sampling sampling.tools sampling.context elicitation.form elicitation.url',
    ],
    ['shared declares nothing', [all, ask, 'shared', '2025-11-25'], ''],
    [
      'exclusive has no url',
      [all, ask, 'exclusive', '2025-11-25'],
      'roots sampling sampling.tools sampling.context elicitation.form',
    ],
    ['2025-06-18', [all, ask, 'user', '2025-06-18'], 'roots sampling elicitation.form'],
    ['2025-03-26', [all, ask, 'user', '2025-03-26'], 'roots sampling'],
    ['empty elicitation is form', [{ elicitation: {} }, ask, 'user', '2025-11-25'], 'elicitation.form'],
    ['url only', [{ elicitation: { url: {} } }, ask, 'user', '2025-11-25'], 'elicitation.url'],
    ['url only, before urls', [{ elicitation: { url: {} } }, ask, 'user', '2025-06-18'], ''],
    ['never', [all, { roots: 'never', sampling: 'never', elicitation: 'never' }, 'user', '2025-11-25'], ''],
  ];
  for (const [name, args, expected] of rows) assert.equal(fingerprintOf(projectCapabilities(...args)), expected, name);
});

test('what is missing is named in the shape of client capabilities', () => {
  assert.deepEqual(missing({}, { elicitation: { url: {} } }), { elicitation: { url: {} } });
  assert.deepEqual(missing({ elicitation: {} }, { elicitation: { form: {} } }), null);
  assert.deepEqual(missing({ sampling: {} }, { sampling: { tools: {} } }), { sampling: { tools: {} } });
  assert.deepEqual(missing({}, { sampling: {} }), { sampling: {} });
  assert.deepEqual(missing({}, { extensions: { 'io.modelcontextprotocol/tasks': {} } }), {
    extensions: { 'io.modelcontextprotocol/tasks': {} },
  });
  assert.ok(covers(all, { sampling: { context: {} }, roots: {} }));
});

const base: KeyParts = {
  server: 's',
  digest: 'd',
  isolation: 'user',
  principal: { tenant: 't', issuer: 'i', subject: 'u', client: 'c' },
  session: 'x',
  mayAsk: true,
};

test('I-2 any single change that isolation cares about changes the owner key', () => {
  const person = { ...base.principal };
  const changes: [string, Partial<KeyParts>, Isolation[]][] = [
    ['server', { server: 's2' }, ['shared', 'exclusive', 'user', 'session']],
    ['digest', { digest: 'd2' }, ['shared', 'exclusive', 'user', 'session']],
    ['tenant', { principal: { ...person, tenant: 't2' } }, ['shared', 'exclusive', 'user', 'session']],
    ['issuer', { principal: { ...person, issuer: 'i2' } }, ['exclusive', 'user', 'session']],
    ['subject', { principal: { ...person, subject: 'u2' } }, ['exclusive', 'user', 'session']],
    ['client', { principal: { ...person, client: 'c2' } }, ['user', 'session']],
    ['session', { session: 'x2' }, ['session']],
  ];
  for (const isolation of ['shared', 'exclusive', 'user', 'session'] as const) {
    for (const [name, change, matter] of changes) {
      const same = ownerKey({ ...base, isolation }) === ownerKey({ ...base, isolation, ...change });
      assert.equal(same, !matter.includes(isolation), `${isolation} ${name}`);
    }
  }
});

test('parts cannot run into one another', () => {
  const a = ownerKey({ ...base, server: 'a","b' });
  const b = ownerKey({ ...base, server: 'a', digest: 'b","d' });
  assert.notEqual(a, b);
  assert.notEqual(poolKey('a', 'b'), poolKey('a","b', ''));
});
