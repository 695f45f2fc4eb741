// Questions of servers on their way to the caller: what passes, what is changed in them, what is refused
// (protocol.md §2.8, §5.1, Part 6 #16, #19).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import fc from 'fast-check';
import { judgeQuestions } from '../../src/route/questions/judge.ts';
import { ALL, asks, FORM } from './asking.ts';
import { metaOf, read, refusalOf, type Scene, stageOf, textOf } from './stage.ts';

const CALL = '{"name":"t"}';

function scene(requests: string | null, state?: string, more: Partial<Scene> & { era?: 'legacy' | 'modern' } = {}) {
  const { era = 'modern', ...rest } = more;
  return stageOf({
    servers: { s: { era, tools: ['{"name":"t"}'], call: () => asks(requests, state) } },
    deps: { questions: true, ...rest.deps },
    ...rest,
  });
}

async function passed(requests: string, more: Partial<Scene> & { era?: 'legacy' | 'modern'; route?: string } = {}) {
  const { route = '/one', ...rest } = more;
  const name = route === '/all' ? '{"name":"s__t"}' : CALL;
  const answer = await scene(requests, 'st', rest).ask('tools/call', name, { capabilities: ALL, route });
  const text = textOf(answer);
  return text.slice('{"inputRequests":{'.length, text.lastIndexOf('},"requestState":'));
}

async function breach(requests: string | null, capabilities: ClientCapabilities = ALL, state?: string) {
  const refusal = refusalOf(await scene(requests, state).ask('tools/call', CALL, { capabilities }));
  assert.equal(refusal.reason, 'upstream-protocol', JSON.stringify(refusal));
  return refusal.message ?? '';
}

test('a question goes out with its key, its schema and its numbers as they came, and names its server', async () => {
  const named = FORM.replace('"Sure?"', '"Server \\"s\\" asks: Sure?"');
  assert.equal(await passed(FORM), named);
  assert.equal(await passed(FORM, { route: '/all' }), named);
});

test('a legacy server is named by the node, and not twice', async () => {
  assert.equal(await passed(FORM, { era: 'legacy' }), FORM);
});

test('the answer is input_required with our own state, and the server’s is not to be read in it', async () => {
  const answer = await scene(FORM, 'secret-of-the-server').ask('tools/call', CALL, { capabilities: ALL });
  assert.equal(answer.kind === 'result' && answer.resultType, 'input_required');
  const { requestState, ...rest } = read(answer) as Record<string, unknown>;
  assert.match(String(requestState), /^lk1\.a\.[A-Za-z0-9_-]+$/);
  assert.ok(!String(requestState).includes('secret'));
  assert.deepEqual(Object.keys(rest), ['inputRequests']);
  assert.deepEqual(metaOf(answer), {});
});

test('a URL, a mode and an id of a URL question stay byte for byte', async () => {
  const url =
    '"u":{"method":"elicitation/create","params":{"mode":"url","url":"https:\\/\\/h.example/p?a=%7e&b=\\u0041","message":"m","x":1e2}}';
  assert.equal(await passed(url), url.replace('"m"', '"Server \\"s\\" asks: m"'));
});

test('a sampling keeps its hints and limits; its context is cut to what can be scoped', async () => {
  const sampling = (context: string) =>
    `"m":{"method":"sampling/createMessage","params":{"messages":[],"modelPreferences":{"hints":[{"name":"x"}]},"includeContext":"${context}","maxTokens":1.0e1}}`;
  assert.equal(await passed(sampling('none')), sampling('none'));
  assert.equal(await passed(sampling('thisServer')), sampling('thisServer'));
  assert.equal(await passed(sampling('allServers')), sampling('none'));
  assert.equal(await passed(sampling('thisServer'), { route: '/all' }), sampling('none'));
});

test('URIs inside a question are nobody’s to rewrite, on an aggregate too', async () => {
  const link =
    '"m":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"resource_link","uri":"a://1"}}],"maxTokens":1}}';
  assert.equal(await passed(link, { route: '/all' }), link);
});

test('a round of state alone is passed on as such', async () => {
  const answer = await scene(null, 'st').ask('tools/call', CALL, { capabilities: {} });
  assert.deepEqual(Object.keys(read(answer)), ['requestState']);
});

const question = (method: string, params = '{}') => `"k":{"method":"${method}","params":${params}}`;

const undeclared: [string, string, ClientCapabilities, RegExp][] = [
  ['a form', FORM, { elicitation: { url: {} } }, /elicitation\.form, which the client did not declare/],
  [
    'a URL',
    question('elicitation/create', '{"mode":"url","url":"https://a","message":"m"}'),
    { elicitation: {} },
    /elicitation\.url/,
  ],
  ['a form of someone who declared nothing', FORM, {}, /elicitation\.form/],
  ['a sampling', question('sampling/createMessage'), { elicitation: {} }, /sampling/],
  ['tools in a sampling', question('sampling/createMessage', '{"tools":[]}'), { sampling: {} }, /sampling\.tools/],
  ['a tool choice', question('sampling/createMessage', '{"toolChoice":{}}'), { sampling: {} }, /sampling\.tools/],
  ['roots', '"k":{"method":"roots/list"}', { sampling: {} }, /roots/],
];

for (const [what, requests, capabilities, why] of undeclared) {
  test(`GB-062: ${what} that this request did not declare is the server’s breach`, async () => {
    assert.match(await breach(requests, capabilities), why);
  });
}

test('GB-062: what is declared upstream is this request’s, cut by `ask`, and nobody else’s', async () => {
  const stage = scene(FORM, 'st', { ask: { roots: 'never', sampling: 'caller', elicitation: 'caller' } });
  const declared = async (capabilities: object) => {
    await stage.ask('tools/call', CALL, { capabilities });
    return stage.sentOf('tools/call').at(-1)!.capabilities;
  };
  assert.deepEqual(await declared(ALL), { sampling: ALL.sampling, elicitation: ALL.elicitation });
  assert.deepEqual(await declared({}), {});
  assert.deepEqual(await declared({ elicitation: {} }), { elicitation: { form: {} } });
  assert.deepEqual(await declared({ elicitation: { url: {} } }), { elicitation: { url: {} } });
});

const malformed: [string, string, RegExp][] = [
  ['another method', question('ping'), /inputRequests holds ping/],
  ['no method', '"k":{"params":{}}', /something nameless/],
  ['something that is no object', '"k":[]', /something nameless/],
  ['params that are no object', '"k":{"method":"roots/list","params":[]}', /params of a question/],
  ['a mode that does not exist', question('elicitation/create', '{"mode":"telepathy","message":"m"}'), /inputRequests/],
  ['no message', question('elicitation/create'), /no message/],
  ['a key twice', `${FORM},${FORM}`, /duplicate-key/],
  ['a method twice', '"k":{"method":"roots/list","method":"elicitation/create"}', /duplicate-key/],
  [
    'a javascript: URL',
    question('elicitation/create', '{"mode":"url","url":"javascript:alert(1)","message":"m"}'),
    /neither https nor http/,
  ],
  [
    'a file: URL',
    question('elicitation/create', '{"mode":"url","url":"file:///etc/passwd","message":"m"}'),
    /neither https nor http/,
  ],
  ['no URL', question('elicitation/create', '{"mode":"url","message":"m"}'), /neither https nor http/],
];

for (const [what, requests, why] of malformed) {
  test(`a question with ${what} is a breach and not passed on`, async () => {
    assert.match(await breach(requests), why);
  });
}

test('an input_required without questions and state is a breach', async () => {
  assert.match(await breach(null), /without questions and state/);
});

for (const [method, params] of [
  ['completion/complete', '{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}'],
  ['tools/list', '{}'],
] as const) {
  test(`GB-062: ${method} is never answered by a question`, async () => {
    const stage = stageOf({
      servers: {
        s: { era: 'modern', before: (r) => (r.method === 'server/discover' ? undefined : asks(FORM, 'st')) },
      },
      deps: { questions: true },
    });
    const refusal = refusalOf(await stage.ask(method, params, { capabilities: ALL }));
    assert.equal(refusal.reason, 'upstream-protocol');
  });
}

test('a caller without a client is not asked: nothing is declared, and what is asked all the same is refused in words', async () => {
  const stage = scene(null, 'st');
  const refusal = refusalOf(await stage.ask('tools/call', CALL, { capabilities: ALL, client: null }));
  assert.equal(refusal.reason, 'no-client');
  assert.deepEqual(stage.sentOf('tools/call')[0]!.capabilities, {});
});

test('a question that cannot be passed on ends the call that a node holds for it', async () => {
  const cancelled: unknown[] = [];
  const stage = scene(FORM, 'st', { era: 'legacy' });
  const link = {
    call: async () => asks(question('ping'), 'st'),
    cancel: (...given: unknown[]) => void cancelled.push(given.slice(0, 3)),
  };
  const other = stageOf({ servers: stage.servers, deps: { questions: true }, store: stage.store });
  await other.ask('tools/list');
  const third = stageOf({ servers: stage.servers, store: other.store, deps: { questions: true, link } });
  assert.equal(refusalOf(await third.ask('tools/call', CALL, { capabilities: {} })).reason, 'upstream-protocol');
  assert.equal((cancelled[0] as string[])[2], 'x1');
});

test('a state too large to be sealed is said to be so', async () => {
  const refusal = refusalOf(await scene(FORM, 'x'.repeat(300_000)).ask('tools/call', CALL, { capabilities: ALL }));
  assert.equal(refusal.reason, 'upstream-protocol');
  assert.match(refusal.message ?? '', /too large/);
});

test('any JSON in the place of questions is judged, and what passes without an edit passes byte for byte', () => {
  const asking = { declared: ALL, asker: null, alone: true };
  const method = fc.constantFrom('elicitation/create', 'sampling/createMessage', 'roots/list', 'x', 7, null);
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.dictionary(fc.string(), fc.record({ method, params: fc.jsonValue({ maxDepth: 3 }) })),
    fc.dictionary(fc.string(), fc.record({ method, params: fc.constant({ message: 'm' }) }, { requiredKeys: [] })),
  );
  fc.assert(
    fc.property(value, fc.boolean(), (requests, pretty) => {
      const text = JSON.stringify(requests, null, pretty ? 2 : 0);
      const judged = judgeQuestions(Buffer.from(`"inputRequests":${text}`), asking);
      if (judged.kind === 'fine') assert.equal(Buffer.from(judged.members).toString(), `"inputRequests":${text}`);
      else assert.notEqual(judged.why, '');
    }),
    { numRuns: 500 },
  );
});
