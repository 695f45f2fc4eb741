// What the log says at the start, and after a reload, of who may call (design §7).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PolicyRule, Snapshot } from '@lockkeeper/protocol/config/settings';
import { type Cautioned, sayCautions } from '../../src/policy/caution.ts';

const JWT = { mode: 'jwt', issuers: [] } as const;
const rule = (tenant: string): PolicyRule => ({ name: 'r', tenant, groups: ['dev'], allow: [] });
const routesOf = (...tenants: string[]) => tenants.map((tenant) => ({ tenant })) as unknown as Snapshot['routes'];

function said(...snapshots: Cautioned[]): string[] {
  const words: string[] = [];
  let tell: (next: Snapshot, previous: Snapshot) => void = () => assert.fail('nobody listens');
  const [first, ...others] = snapshots as Snapshot[];
  const stop = sayCautions(
    {
      current: () => first!,
      onChange(listener) {
        tell = listener;
        return () => {
          tell = () => undefined;
        };
      },
    },
    (text) => words.push(text),
  );
  let previous = first!;
  for (const next of others) {
    tell(next, previous);
    previous = next;
  }
  stop();
  return words;
}

test('in open mode that all callers are one user', () => {
  assert.deepEqual(said({ auth: { mode: 'open' }, policy: [], routes: routesOf('acme') }), [
    'auth.mode is open: all callers are one user, anonymous, who may use everything',
  ]);
});

test('with tokens and without rules that nothing is allowed, and to whom', () => {
  assert.deepEqual(said({ auth: JWT, policy: [], routes: routesOf('acme', 'acme', 'beta') }), [
    'nothing is allowed to anybody of acme, beta: add rules under policy',
  ]);
  assert.deepEqual(said({ auth: JWT, policy: [rule('acme')], routes: routesOf('acme', 'beta') }), [
    'nothing is allowed to anybody of beta: add rules under policy',
  ]);
});

test('nothing where every tenant with a route has a rule; a reload that takes the last one away is told once', () => {
  const good: Cautioned = { auth: JWT, policy: [rule('acme')], routes: routesOf('acme') };
  const bad: Cautioned = { ...good, policy: [] };
  assert.deepEqual(said(good, good), []);
  const words = 'nothing is allowed to anybody of acme: add rules under policy';
  assert.deepEqual(said(good, bad, bad, good, bad), [words, words]);
});
