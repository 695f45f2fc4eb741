// A retry: what it carries on, whose it must be, what it is told when there is nothing to go on with (protocol.md §2.8,
// §5.5; design §4 amendments 1–3, §5 "Reload").
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fault } from '@lockkeeper/protocol/link/frames';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import type { Answer } from '../../src/exchange.ts';
import type { LinkRequest } from '../../src/link/contract.ts';
import { createSealRing } from '../../src/seal/ring.ts';
import { ALL, asking, asks, FORM, retryOf, stateOf } from './asking.ts';
import {
  allow,
  bodyOf,
  fault,
  KEY,
  manualClock,
  read,
  refusalOf,
  type Scene,
  type Stage,
  specOf,
  stageOf,
} from './stage.ts';

const CALL = '{"name":"delete","arguments":{"id":7}}';
const ANY = { capabilities: ALL };

function stage(more: Partial<Scene> & { era?: 'legacy' | 'modern'; state?: string } = {}): Stage {
  const { era = 'legacy', ...rest } = more;
  const state = 'state' in more ? more.state : 'x1.1.nonce';
  return stageOf({
    servers: { s: { era, tools: ['{"name":"delete"}', '{"name":"drop"}'], call: asking(FORM, state) } },
    ...rest,
    deps: { questions: true, ...rest.deps },
  });
}

const lastOf = (of: Stage): LinkRequest => of.sent.at(-1)!;

test('GB-064: the retry goes to the node that holds the call, under its exchange, with its state and the raw answers', async () => {
  const one = stage();
  const state = stateOf(await one.ask('tools/call', CALL, ANY));
  const answers = '{"k":{"action": "accept","content":{"n":1.0,"big":12345678901234567890}}}';
  const done = await one.ask('tools/call', retryOf(CALL, state, answers), { ...ANY, xid: 'x2' });
  assert.deepEqual(read(done), { content: [{ type: 'text', text: 'done' }] });
  const { xid, state: inner, node, incarnation, wait } = lastOf(one);
  assert.deepEqual(
    { xid, inner, node, incarnation, wait },
    { xid: 'x1', inner: 'x1.1.nonce', node: 'n1', incarnation: 'i1', wait: undefined },
  );
  assert.equal(bodyOf(lastOf(one)), `{"name":"delete","arguments":{"id":7},"inputResponses":${answers}}`);
  assert.equal(done.continues, 'x1');
  assert.equal(done.server, 's');
});

test('GB-061: a modern server gets its own state back byte for byte, at whatever node, and none if it gave none', async () => {
  const texts = ['', ' ', 'A'.repeat(8192), 'ünï"cödé\\ \u2028', '{"a":[1]}', undefined];
  for (const given of texts) {
    const one = stage({ era: 'modern', state: given as string });
    const sealed = stateOf(await one.ask('tools/call', CALL, ANY));
    read(await one.ask('tools/call', retryOf(CALL, sealed), ANY));
    assert.equal(lastOf(one).state, given);
    assert.equal('state' in lastOf(one), given !== undefined);
    assert.equal(lastOf(one).incarnation, undefined);
  }
});

test('GB-061: flows side by side and rounds in a row keep their states apart', async () => {
  let round = 0;
  const one = stageOf({
    servers: {
      s: {
        era: 'modern',
        tools: ['{"name":"delete"}'],
        call: (r) => (r.state === 'r3' ? '"content":[]' : asks(FORM, `r${++round}`)),
      },
    },
    deps: { questions: true },
  });
  const first = stateOf(await one.ask('tools/call', CALL, ANY));
  const second = stateOf(await one.ask('tools/call', CALL, { ...ANY, xid: 'x2' }));
  assert.notEqual(first, second);
  const third = stateOf(await one.ask('tools/call', retryOf(CALL, second), { ...ANY, xid: 'x3' }));
  assert.deepEqual([lastOf(one).xid, lastOf(one).state], ['x2', 'r2']);
  stateOf(await one.ask('tools/call', retryOf(CALL, first), { ...ANY, xid: 'x4' }));
  assert.deepEqual([lastOf(one).xid, lastOf(one).state], ['x1', 'r1']);
  read(await one.ask('tools/call', retryOf(CALL, third), { ...ANY, xid: 'x5' }));
  assert.deepEqual([lastOf(one).xid, lastOf(one).state], ['x2', 'r3']);
});

test('GB-058: any replica opens what another sealed, before and after the key is rotated', async () => {
  const clock = manualClock();
  const ring = (kids: string[], sealWith?: string) =>
    createSealRing({
      keys: { keys: kids.map((kid) => ({ kid, key: KEY + kid })), ...(sealWith ? { sealWith } : {}) },
      now: clock.now,
    });
  const store = createMemoryStore({ clock, warn: () => {} });
  const replica = (of: ReturnType<typeof ring>) => stage({ store, deps: { ring: of, clock } });
  const state = stateOf(await replica(ring(['a'])).ask('tools/call', CALL, ANY));
  for (const later of [ring(['a']), ring(['a', 'b'], 'a'), ring(['b', 'a'], 'b')]) {
    assert.equal((await replica(later).ask('tools/call', retryOf(CALL, state), ANY)).kind, 'result');
  }
  const gone = await replica(ring(['b'])).ask('tools/call', retryOf(CALL, state), ANY);
  assert.equal(refusalOf(gone).reason, 'bad-state');
});

interface Attempt {
  readonly what: string;
  readonly params?: string;
  readonly method?: string;
  readonly who?: object;
  readonly state?: (state: string) => unknown;
  readonly why: string;
}

const attempts: Attempt[] = [
  { what: 'another person', who: { subject: 'bob' }, why: 'foreign' },
  { what: 'another program of that person', who: { client: 'other' }, why: 'foreign' },
  { what: 'a program without a name', who: { client: null }, why: 'foreign' },
  { what: 'another route', who: { route: '/two' }, why: 'unreadable' },
  { what: 'other arguments', params: '{"name":"delete","arguments":{"id":8}}', why: 'other' },
  { what: 'another tool', params: '{"name":"drop","arguments":{"id":7}}', why: 'other' },
  { what: 'another method', params: '{"name":"delete","arguments":{"id":7}}', method: 'prompts/get', why: 'other' },
  { what: 'one character changed', state: flipped, why: 'unreadable' },
  { what: 'the end cut off', state: (s) => s.slice(0, -4), why: 'unreadable' },
  { what: 'a made-up state', state: () => 'x1.1.nonce', why: 'unreadable' },
  { what: 'an empty state', state: () => '', why: 'unreadable' },
  { what: 'null', state: () => null, why: 'unreadable' },
  { what: 'a number', state: () => 7, why: 'unreadable' },
  { what: 'an object', state: () => ({}), why: 'unreadable' },
];

function flipped(state: string): string {
  const at = state.length - 10;
  return state.slice(0, at) + (state[at] === 'A' ? 'B' : 'A') + state.slice(at + 1);
}

for (const { what, params = CALL, method = 'tools/call', who = {}, state = (s: string) => s, why } of attempts) {
  test(`GB-059: a state with ${what} is refused in the same words, nothing is called, and the operator hears: ${why}`, async () => {
    const told: string[] = [];
    const one = stage({ deps: { observer: { stateRefused: (_exchange, _method, reason) => told.push(reason) } } });
    one.snapshot = { ...one.snapshot, routes: [...one.snapshot.routes, { ...one.snapshot.routes[0]!, path: '/two' }] };
    const sealed = stateOf(await one.ask('tools/call', CALL, ANY));
    const calls = () => one.sent.filter((r) => r.method === method).length;
    const before = calls();
    const answer = await one.ask(method, retryOf(params, state(sealed)), { ...ANY, ...who });
    assert.deepEqual(refusalOf(answer), { reason: 'bad-state' });
    assert.equal(answer.detail, `requestState: ${why}`);
    assert.deepEqual(told, [why]);
    assert.equal(calls(), before);
  });
}

test('GB-059: a state that has expired is refused like any other, and the honest retry works until then', async () => {
  const one = stage();
  const state = stateOf(await one.ask('tools/call', CALL, ANY));
  one.clock.advance(10 * 60_000);
  assert.equal((await one.ask('tools/call', retryOf(CALL, state), ANY)).kind, 'result');
  one.clock.advance(61_000);
  assert.deepEqual(refusalOf(await one.ask('tools/call', retryOf(CALL, state), ANY)), { reason: 'bad-state' });
});

test('a new token of the same person and program, another order of keys and another _meta change nothing', async () => {
  const one = stage();
  const state = stateOf(await one.ask('tools/call', CALL, ANY));
  const same = '{"_meta":{"x":2},"arguments": {"id":7},"name":"del\\u0065te"}';
  const answer = await one.ask('tools/call', retryOf(same, state), { ...ANY, groups: ['dev', 'ops'] });
  assert.equal(answer.kind, 'result');
});

test('what the policy no longer allows is refused on a retry as if it had been asked anew', async () => {
  const rule = (tools: string[]) => ({
    name: 'r',
    tenant: 'acme',
    groups: ['dev'],
    allow: [allow('s', { tools })],
  });
  const one = stage({ policy: [rule(['*'])] });
  const asked = await one.ask('tools/call', CALL, ANY);
  assert.equal(asked.rule, 'r');
  one.snapshot = { ...one.snapshot, version: '2', policy: [rule(['drop'])] };
  const answer = await one.ask('tools/call', retryOf(CALL, stateOf(asked)), ANY);
  assert.deepEqual(refusalOf(answer), { reason: 'unknown-name', message: 'Unknown tool: delete' });
  assert.equal(answer.rule, 'default-deny');
  assert.equal(one.sentOf('tools/call').length, 1);
});

test('a server that the route no longer has is gone for a retry too', async () => {
  const one = stage();
  const state = stateOf(await one.ask('tools/call', CALL, ANY));
  one.snapshot = { ...one.snapshot, version: '2', servers: new Map() };
  assert.equal(refusalOf(await one.ask('tools/call', retryOf(CALL, state), ANY)).reason, 'unknown-name');
});

test('a retry is resolved by its seal: the digest it was asked under, not today’s', async () => {
  const one = stage();
  const state = stateOf(await one.ask('tools/call', CALL, ANY));
  one.snapshot = { ...one.snapshot, version: '2', servers: new Map([['acme/s', specOf('s', { digest: 'newer' })]]) };
  assert.equal((await one.ask('tools/call', retryOf(CALL, state), ANY)).kind, 'result');
  assert.equal(lastOf(one).digest, 'digest-of-s');
  await one.ask('tools/call', CALL, ANY);
  assert.equal(lastOf(one).digest, 'newer');
});

test('a configuration that no node keeps any more says "start again", not "unavailable"', async () => {
  const one = stage();
  const state = stateOf(await one.ask('tools/call', CALL, ANY));
  one.servers.s!.call = () => fault('stale-config');
  one.snapshot = { ...one.snapshot, version: '2', servers: new Map([['acme/s', specOf('s', { digest: 'newer' })]]) };
  assert.deepEqual(refusalOf(await one.ask('tools/call', retryOf(CALL, state), ANY)), { reason: 'bad-state' });
});

test('an aggregate finds the server and its name again by the seal alone', async () => {
  const one = stageOf({
    servers: { s: { tools: ['{"name":"delete"}'], call: asking(FORM, 'st') }, t: {} },
    deps: { questions: true },
  });
  const params = '{"name":"s__delete","arguments":{}}';
  const state = stateOf(await one.ask('tools/call', params, { ...ANY, route: '/all' }));
  const before = one.sent.length;
  const cold = stageOf({ servers: one.servers, deps: { questions: true, clock: one.clock } });
  assert.equal((await cold.ask('tools/call', retryOf(params, state), { ...ANY, route: '/all' })).kind, 'result');
  assert.equal(cold.sent.length, 1);
  assert.equal(one.sent.length, before);
  assert.match(bodyOf(lastOf(cold)), /^\{"name":"delete","arguments":\{\},"inputResponses":/);
  assert.equal(lastOf(cold).name, 'delete');
});

test('the same for prompts/get and resources/read; what a retry reads is not to be cached', async () => {
  const one = stageOf({
    servers: {
      s: {
        call: (r) =>
          r.state === 'st' ? '"contents":[],"ttlMs":5000,"cacheScope":"public","messages":[]' : asks(FORM, 'st'),
      },
    },
    deps: { questions: true },
  });
  for (const [method, params] of [
    ['prompts/get', '{"name":"p"}'],
    ['resources/read', '{"uri":"a://1"}'],
  ] as const) {
    const state = stateOf(await one.ask(method, params, ANY));
    const done = read(await one.ask(method, retryOf(params, state), ANY)) as Record<string, unknown>;
    assert.deepEqual(done.messages, []);
    if (method === 'resources/read') assert.deepEqual([done.ttlMs, done.cacheScope], [0, 'private']);
  }
});

test('capabilities are those of this retry, not of the first round', async () => {
  const one = stage();
  const state = stateOf(await one.ask('tools/call', CALL, ANY));
  await one.ask('tools/call', retryOf(CALL, state), { capabilities: { elicitation: { url: {} } } });
  assert.deepEqual(lastOf(one).capabilities, { elicitation: { url: {} } });
});

const ends: [string, Partial<Fault> & Pick<Fault, 'reason'>, object][] = [
  ['lost', { reason: 'lost', mayHaveRun: true }, { reason: 'lost' }],
  ['unknown to its node', { reason: 'unknown-exchange' }, { reason: 'bad-state' }],
  ['given up by the person', { reason: 'refused', mayHaveRun: true, message: 'no' }, { reason: 'upstream' }],
];

for (const [how, given, expected] of ends) {
  test(`an exchange that is ${how} ends its retry with ${JSON.stringify(expected)}, and is not run again`, async () => {
    const one = stage();
    const state = stateOf(await one.ask('tools/call', CALL, ANY));
    one.servers.s!.call = () => fault(given.reason, given);
    const before = one.sent.length;
    const answer = await one.ask('tools/call', retryOf(CALL, state), { ...ANY, xid: 'x2' });
    assert.equal(refusalOf(answer).reason, (expected as { reason: string }).reason);
    assert.equal(answer.continues, 'x1');
    assert.equal(one.sent.length, before + 1);
  });
}

test('the legacy leg re-joins by the state without answers, or by the exchange when nothing was asked, and waits for people', async () => {
  const one = stage();
  const legacy = { ...ANY, era: 'legacy' as const, session: 'h' };
  const state = stateOf(await one.ask('tools/call', CALL, legacy));
  const sent = lastOf(one);
  const joined = `${CALL.slice(0, -1)},"requestState":${JSON.stringify(state)}}`;
  await one.ask('tools/call', joined, { ...legacy, wait: true, fromSeq: 3, xid: 'x2' });
  const { xid, wait, fromSeq, state: inner, incarnation, deadlineMs } = lastOf(one);
  assert.deepEqual(
    { xid, wait, fromSeq, inner, incarnation },
    { xid: 'x1', wait: true, fromSeq: 3, inner: 'x1.1.nonce', incarnation: 'i1' },
  );
  assert.ok(deadlineMs >= sent.deadlineMs + 10 * 60_000);
  await one.ask('tools/call', CALL, { ...legacy, wait: true, xid: 'x9' });
  assert.deepEqual([lastOf(one).xid, lastOf(one).state, lastOf(one).wait], ['x9', undefined, true]);
});

test('a legacy caller of a modern server is held by the node, which then is the one to go back to', async () => {
  const one = stage({ era: 'modern' });
  const legacy = { ...ANY, era: 'legacy' as const, session: 'h' };
  const state = stateOf(await one.ask('tools/call', CALL, legacy));
  await one.ask('tools/call', retryOf(CALL, state), legacy);
  assert.deepEqual([lastOf(one).node, lastOf(one).incarnation], ['n1', 'i1']);
});

const refusedAnswers: [string, string][] = [
  ['null', 'null'],
  ['an array', '[]'],
  ['a string', '"x"'],
];

for (const [what, answers] of refusedAnswers) {
  test(`inputResponses that are ${what} are refused, with and without a state`, async () => {
    const one = stage();
    const state = stateOf(await one.ask('tools/call', CALL, ANY));
    const before = one.sentOf('tools/call').length;
    const bare = `${CALL.slice(0, -1)},"inputResponses":${answers}}`;
    for (const params of [retryOf(CALL, state, answers), bare]) {
      assert.equal(refusalOf(await one.ask('tools/call', params, ANY)).reason, 'invalid-params');
    }
    assert.equal(one.sentOf('tools/call').length, before);
  });
}

test('the link’s own word for a refusal is the legacy leg’s to say, and no modern caller’s', async () => {
  const one = stage();
  const refusing = '{"a":{"action":"accept"},"k":{"lk/error":{"code":-1,"message":"no"}}}';
  const state = stateOf(await one.ask('tools/call', CALL, ANY));
  const refusal = refusalOf(await one.ask('tools/call', retryOf(CALL, state, refusing), ANY));
  assert.deepEqual(refusal, { reason: 'invalid-params', message: 'params.inputResponses.k is no answer.' });
  const legacy = { ...ANY, era: 'legacy' as const };
  const own = stateOf(await one.ask('tools/call', CALL, legacy));
  const taken: Answer = await one.ask('tools/call', retryOf(CALL, own, refusing), legacy);
  assert.equal(taken.kind, 'result');
});

test('Mcp-Param-* is checked on a retry as on any request, before the state is looked at (protocol.md §2.1 #20, #21)', async () => {
  const tool =
    '{"name":"delete","inputSchema":{"type":"object","properties":{"id":{"type":"integer","x-mcp-header":"Id"}}}}';
  const one = stageOf({
    servers: { s: { era: 'modern', tools: [tool], call: asking(FORM, 'st') } },
    deps: { questions: true },
  });
  const right = { ...ANY, paramHeaders: { id: '7' } };
  const wrong = { ...ANY, paramHeaders: { id: '8' } };
  const state = stateOf(await one.ask('tools/call', CALL, right));
  assert.equal(refusalOf(await one.ask('tools/call', retryOf(CALL, state), wrong)).reason, 'header-mismatch');
  assert.equal(refusalOf(await one.ask('tools/call', retryOf(CALL, 'lk1.x'), wrong)).reason, 'header-mismatch');
  assert.equal(refusalOf(await one.ask('tools/call', retryOf(CALL, 'lk1.x'), right)).reason, 'bad-state');
  assert.equal((await one.ask('tools/call', retryOf(CALL, state), right)).kind, 'result');
});
