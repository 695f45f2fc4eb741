import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PolicyRule } from '@lockkeeper/protocol/config/settings';
import { decide, type Kind, type Rules, reaches, viewText } from '../../src/policy/decide.ts';
import { matches } from '../../src/policy/glob.ts';

const none = { tools: [], prompts: [], resources: [] };
const policy: PolicyRule[] = [
  { name: 'devs', tenant: 'acme', groups: ['dev'], allow: [{ ...none, server: 'files', tools: ['read_*', 'stat'] }] },
  {
    name: 'docs',
    tenant: 'acme',
    groups: ['dev', 'ops'],
    allow: [{ ...none, server: 'files', resources: ['file:///docs/*'] }],
  },
  {
    name: 'ops',
    tenant: 'acme',
    groups: ['ops'],
    allow: [{ server: 'git', tools: ['*'], prompts: ['*'], resources: ['*'] }],
  },
  { name: 'others', tenant: 'globex', groups: ['dev'], allow: [{ ...none, server: 'files', tools: ['*'] }] },
];
const rules: Rules = { auth: { mode: 'jwt', issuers: [] }, policy };
const dev = { tenant: 'acme', groups: ['dev'] };

const table: [string, string[], string, Kind, string, string | null][] = [
  ['a pattern of one of the groups fits', ['dev'], 'files', 'tool', 'read_file', 'devs'],
  ['an exact name fits', ['dev'], 'files', 'tool', 'stat', 'devs'],
  ['names are compared with their case', ['dev'], 'files', 'tool', 'Stat', null],
  ['a name that no pattern fits is denied', ['dev'], 'files', 'tool', 'write_file', null],
  ['a tool pattern says nothing of prompts', ['dev'], 'files', 'prompt', 'read_me', null],
  ['a resource fits by its URI', ['ops'], 'files', 'resource', 'file:///docs/a/b.md', 'docs'],
  ['another URI does not', ['ops'], 'files', 'resource', 'file:///etc/passwd', null],
  ['another server does not', ['dev'], 'git', 'tool', 'log', null],
  ['any of several groups is enough', ['x', 'ops'], 'git', 'tool', 'log', 'ops'],
  ['no group, nothing', [], 'files', 'tool', 'stat', null],
  ['an unknown group, nothing', ['devs'], 'files', 'tool', 'stat', null],
  ['an unknown server, nothing', ['dev'], 'nowhere', 'tool', 'stat', null],
];

for (const [why, groups, server, kind, name, rule] of table) {
  test(`${why}: ${kind} ${name} at ${server} for [${groups}]`, () => {
    const decision = decide(rules, { tenant: 'acme', groups }, server, kind, name);
    assert.deepEqual(decision, rule === null ? { allow: false, rule: 'default-deny' } : { allow: true, rule });
  });
}

test('a rule of another tenant allows nothing here', () => {
  assert.equal(decide(rules, { tenant: 'acme', groups: ['dev'] }, 'files', 'tool', 'write_file').allow, false);
  assert.equal(decide(rules, { tenant: 'globex', groups: ['dev'] }, 'files', 'tool', 'write_file').allow, true);
});

test('without rules nothing is allowed, and an empty list is nothing', () => {
  assert.equal(decide({ ...rules, policy: [] }, dev, 'files', 'tool', 'stat').allow, false);
  assert.equal(reaches(rules, dev, 'files', 'prompt'), false);
  assert.equal(reaches(rules, dev, 'files', 'tool'), true);
  assert.equal(reaches(rules, dev, 'git', 'tool'), false);
});

test('open mode allows everything, by the rule "open"', () => {
  const open: Rules = { auth: { mode: 'open' }, policy: [] };
  assert.deepEqual(decide(open, { tenant: 'acme', groups: [] }, 'x', 'tool', 'y'), { allow: true, rule: 'open' });
});

test('a star stands for any run of characters, anywhere, and for nothing else', () => {
  const yes: [string, string][] = [
    ['*', ''],
    ['*', 'a/b'],
    ['a*', 'a'],
    ['*z', 'abcz'],
    ['a*b*c', 'a--b--b--c'],
    ['db://*/rows/*', 'db://x/y/rows/1'],
    ['**', 'x'],
  ];
  const no: [string, string][] = [
    ['a*', 'ba'],
    ['*z', 'za'],
    ['a*b*c', 'acb'],
    ['a.c', 'abc'],
    ['[ab]', 'a'],
    ['', 'a'],
    ['a?', 'ab'],
  ];
  for (const [pattern, text] of yes) assert.equal(matches(pattern, text), true, `${pattern} ${text}`);
  for (const [pattern, text] of no) assert.equal(matches(pattern, text), false, `${pattern} ${text}`);
});

test('a pattern full of stars against a long name does not run away', () => {
  const steps = `${'a*'.repeat(30)}b`;
  assert.equal(matches(steps, 'a'.repeat(20_000)), false);
});

test('the view changes with the rules that concern the caller, and only with those', () => {
  const before = viewText(rules, dev, ['files', 'git']);
  const without = (name: string): Rules => ({ ...rules, policy: policy.filter((r) => r.name !== name) });
  assert.equal(viewText(without('ops'), dev, ['files', 'git']), before);
  assert.equal(viewText(without('others'), dev, ['files', 'git']), before);
  assert.notEqual(viewText(without('devs'), dev, ['files', 'git']), before);
});
