// A real process that asks, behind the real link: questions one after another and together, taken back, by -32042, at
// its start; answered through another gateway; and how often its tools have run.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { ALL, call, FORM, type Question, questionOf, type Real, real, resultOf, specOf } from './real.ts';

let folder: string;
let r: Real;
const spec = specOf({});
const counter = () => join(folder, 'runs');
const accept = (code: string) => ({ action: 'accept', content: { code } });
const SAID = { role: 'assistant', content: { type: 'text', text: 'hello' }, model: 'm' };
const ROOTS = { roots: [{ uri: 'file:///mine' }] };

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lockkeeper-asks-'));
  r = await real({ env: { COUNTER: counter() } });
});

after(async () => {
  await r?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

let xids = 0;

async function ask(
  tool: string,
  args: Record<string, unknown>,
  change: Parameters<typeof call>[4] = {},
): Promise<Question> {
  const xid = `real-${++xids}`;
  return questionOf(await call(r.gateway, spec, tool, args, { xid, capabilities: ALL, ...change }), xid);
}

function back(
  question: Question,
  tool: string,
  args: Record<string, unknown>,
  answers: unknown,
  change: Parameters<typeof call>[4] = {},
) {
  const { xid, state } = question;
  const { incarnation } = r.node;
  return call(r.other, spec, tool, args, { xid, state, incarnation, capabilities: ALL, answers, ...change });
}

const runs = (secret: string) =>
  readFileSync(counter(), 'utf8')
    .split('\n')
    .filter((line) => line.endsWith(` ${secret}`)).length;

describe('GB-064: a real legacy server', () => {
  it('asks one after another; the answers come through another gateway; the tool has run once', async () => {
    const args = { kinds: ['elicit', 'sample', 'roots'], secret: 'one-by-one' };
    const first = await ask('ask', args);
    const second = questionOf(await back(first, 'ask', args, { [first.keys[0]!]: accept('1') }), first.xid);
    assert.match(second.text, /sampling\/createMessage/);
    const third = questionOf(await back(second, 'ask', args, { [second.keys[0]!]: SAID }), first.xid);
    assert.match(third.text, /roots\/list/);
    const done = await back(third, 'ask', args, { [third.keys[0]!]: ROOTS });
    assert.deepEqual(resultOf(done).told, [{ result: accept('1') }, { result: SAID }, { result: ROOTS }]);
    assert.equal(done.accepted, true);
    assert.equal(runs('one-by-one'), 1);
    const again = await back(third, 'ask', args, { [third.keys[0]!]: ROOTS });
    assert.deepEqual(resultOf(again), resultOf(done));
    assert.equal(runs('one-by-one'), 1);
  });

  it('asks several things at once, which are one round', async () => {
    const args = { kinds: ['elicit', 'url', 'sample', 'roots'], together: true, secret: 'together' };
    const { keys, ...question } = await ask('ask', args);
    assert.equal(keys.length, 4);
    assert.doesNotMatch(question.text, /elicitationId/);
    const all = [accept('1'), { action: 'accept' }, SAID, ROOTS];
    const answers = Object.fromEntries(keys.map((key, i) => [key, all[i]]));
    const done = await back({ keys, ...question }, 'ask', args, answers);
    assert.deepEqual(
      resultOf(done).told,
      all.map((result) => ({ result })),
    );
  });

  it('takes a question back: it is asked no more, and its answer goes nowhere', async () => {
    const args = { secret: 'withdrawn' };
    const both = await ask('withdraw', args);
    assert.equal(both.keys.length, 2);
    let left = both;
    await eventually(async () => {
      left = questionOf(await back(both, 'withdraw', args, undefined), both.xid);
      return left.keys.length === 1;
    });
    const answers = { [both.keys[0]!]: accept('late'), [left.keys[0]!]: accept('2') };
    const done = await back(left, 'withdraw', args, answers);
    assert.deepEqual(resultOf(done).told, [{ result: 'withdrawn' }, { result: accept('2') }]);
  });

  it('sends its user to a URL by -32042, and is called again on the same process when it is done', async () => {
    const args = { secret: 'gated' };
    const question = await ask('gate', args);
    assert.match(question.text, /https:\/\/a\.example\/gated/);
    const waiting = back(question, 'gate', args, { [question.keys[0]!]: { action: 'accept' } });
    await eventually(() => runs('gated') >= 2);
    await call(r.gateway, spec, 'open', args, { xid: 'opens', capabilities: ALL });
    assert.equal(resultOf(await waiting).told, 'open');
  });

  it('is refused what the call did not declare, and its call goes on', async () => {
    const args = { kinds: ['elicit', 'sample'], secret: 'refused' };
    const question = await ask('ask', args, { capabilities: FORM });
    const done = await back(question, 'ask', args, { [question.keys[0]!]: accept('1') }, { capabilities: FORM });
    const told = resultOf(done).told as { error?: { code: number } }[];
    assert.equal(told[1]?.error?.code, -32601);
  });

  it('gets the roots it asks for at its start from the call that caused it, or from the configuration', async () => {
    const roots = [{ uri: 'file:///configured' }];
    for (const asked of [true, false]) {
      const own = await real({ env: { ROOTS: '1' }, spec: { roots }, parked: { timings: { earlyMs: 500 } } });
      try {
        const args = { kinds: ['elicit'], secret: 'start' };
        const head = { xid: 'start', capabilities: ALL, incarnation: own.node.incarnation };
        let question = questionOf(await call(own.gateway, spec, 'ask', args, { ...head }), 'start');
        await eventually(async () => {
          question = questionOf(
            await call(own.gateway, spec, 'ask', args, { ...head, state: question.state }),
            'start',
          );
          return question.text.includes('roots/list') === asked;
        });
        const answers: Record<string, unknown> = {};
        const requests = (JSON.parse(`{${question.text}}`) as { inputRequests: Record<string, { method: string }> })
          .inputRequests;
        for (const [key, { method }] of Object.entries(requests))
          answers[key] = method === 'roots/list' ? ROOTS : accept('1');
        await call(own.gateway, spec, 'ask', args, { ...head, state: question.state, answers });
        const told = resultOf(await call(own.gateway, spec, 'roots', {}, { xid: 'told', capabilities: ALL })).told;
        assert.deepEqual(told, { result: asked ? ROOTS : { roots } });
      } finally {
        await own.stop();
      }
    }
  });
});
