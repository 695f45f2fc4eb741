// Two people at one server, hundreds of calls with questions at the same time: does anything of the one reach the other?
// Every message carries its person's secret (design §5 "Crossing users is a bug of the worst class", GB-065, GB-117).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { Isolation } from '@lockkeeper/protocol/link/keys';
import { ALICE, BOB, call, FORM, questionOf, type Real, real, resultOf, specOf } from './real.ts';

const CALLS = 200;

interface Person {
  readonly name: string;
  readonly principal: Principal;
  readonly session: string | null;
}

const PEOPLE: readonly Person[] = [
  { name: 'alice', principal: ALICE, session: 'session-of-alice' },
  { name: 'bob', principal: BOB, session: 'session-of-bob' },
];

function clean(text: string, own: string, others: readonly string[]): void {
  for (const other of others) assert.ok(!text.includes(other), `${own} sees ${other}: ${text}`);
}

async function talk(r: Real, isolation: Isolation, person: Person, n: number): Promise<void> {
  const secret = `${person.name}-${n}`;
  const others = PEOPLE.filter(({ name }) => name !== person.name).map(({ name }) => `${name}-`);
  const spec = specOf({ spec: { isolation } });
  const modern = n % 2 === 0;
  const xid = `${isolation}-${secret}`;
  const head = {
    xid,
    principal: person.principal,
    session: isolation === 'session' ? person.session : null,
    capabilities: FORM,
    progress: true,
    logLevel: 'debug' as const,
    downstreamEra: modern ? ('modern' as const) : ('legacy' as const),
  };
  let heard = await call(r.gateway, spec, 'talk', { secret, times: 2 }, head);
  for (let round = 1; round <= 2; round++) {
    const question = questionOf(heard, xid);
    assert.equal(question.keys.length, 1);
    // Its own question, and no other of the same person either.
    assert.match(question.text, new RegExp(`code for ${secret}\\?`));
    clean(question.text + question.events.join('\n'), secret, others);
    for (const event of question.events) assert.match(event, new RegExp(`"${secret}"`));
    const answers = { [question.keys[0]!]: { action: 'accept', content: { code: `${secret}-${round}` } } };
    const through = n % 3 === 0 ? r.other : r.gateway;
    heard = await call(
      through,
      spec,
      'talk',
      { secret, times: 2 },
      { ...head, state: question.state, incarnation: r.node.incarnation, answers },
    );
  }
  const result = resultOf(heard);
  const told = [1, 2].map((round) => ({ result: { action: 'accept', content: { code: `${secret}-${round}` } } }));
  assert.deepEqual(result, { secret, told });
  clean(heard.events.join('\n'), secret, others);
}

for (const isolation of ['user', 'session', 'exclusive'] as const) {
  test(`GB-065 GB-117 TEN: ${CALLS} calls of two people at one server, isolation ${isolation}: nothing crosses`, async () => {
    // `exclusive` starts a process a call: fewer of them.
    const calls = isolation === 'exclusive' ? 16 : CALLS;
    const r = await real({ spec: { isolation }, limits: { maxPerServer: 6 } });
    try {
      const all = Array.from({ length: calls }, (_, n) => talk(r, isolation, PEOPLE[n % 2]!, n >> 1));
      await Promise.all(all);
    } finally {
      await r.stop();
    }
  });
}
