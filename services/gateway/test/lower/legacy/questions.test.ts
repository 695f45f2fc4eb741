// Is a legacy client asked on the stream of its own call, whatever replica its answer meets, once and no more?
// (protocol.md §5.3 "input_required", design §4 "Legacy streams")

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { eventually, within } from '../../../../../test/harness/eventually.ts';
import type { SseEvent } from '../../../../../test/harness/raw-sse.ts';
import { type AskingNode, createAskingNode } from './asking-node.ts';
import { call, notification, open, post, reader, verb } from './client.ts';
import { createWorld, type Kind, type World } from './replicas.ts';

interface Rpc {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: { readonly content: readonly { readonly text: string }[]; readonly isError?: boolean };
}

const FORM = {
  message: 'Go on?',
  requestedSchema: { type: 'object', properties: { yes: { type: 'boolean' } }, required: ['yes'] },
};
const CAN = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: { listChanged: true } };

/** The next message on a stream; priming events are not messages. */
async function heard(stream: { next(): Promise<SseEvent | null> }): Promise<Rpc> {
  for (;;) {
    const event = await within(stream.next(), 5000, 'a message');
    if (event === null) throw new Error('the stream has ended');
    if (event.data) return JSON.parse(event.data) as Rpc;
  }
}

for (const kind of ['memory', 'redis'] satisfies Kind[]) {
  describe(`with the ${kind} store`, () => {
    let world: World;
    let node: AskingNode;
    before(async () => {
      world = await createWorld(kind);
    });
    after(() => world.close());
    beforeEach(() => {
      node = createAskingNode();
      world.upstream.answer = node.answer;
      world.upstream.seen.length = 0;
      world.upstream.audit.length = 0;
      world.upstream.cancelled.length = 0;
    });

    const answer = (replica: 0 | 1, session: string, id: unknown, result: unknown, user?: string) =>
      post(world.replicas[replica], { jsonrpc: '2.0', id, result }, { session, ...(user ? { user } : {}) });
    const stream = async (session: string, name: string, id: unknown = 1, meta?: unknown) =>
      reader(await post(world.replicas[0], call(id, name, meta), { session }));
    const keys = async (session: string) =>
      (await world.stores[0]!.scan(`lk:{acme}:sess:${session}`)).filter((k) => /:(call|req|opened):/.test(k));

    for (const [saysRounds, words] of [
      [true, 'said'],
      [false, 'guessed'],
    ] as const) {
      test(`a question is asked on the call’s own stream, its answer taken elsewhere; rounds ${words}`, async () => {
        node.saysRounds = saysRounds;
        node.script('ask', async (running) => {
          const first = await running.ask('k', 'elicitation/create', FORM);
          const second = await running.ask('k', 'elicitation/create', FORM);
          return JSON.stringify([first, second]);
        });
        const session = await open(world.replicas[0], '2025-11-25', CAN);
        const heardOn = await stream(session, 'ask', 'my id');
        const ids = new Set<unknown>();
        for (const [replica, n] of [
          [1, 1],
          [0, 2],
        ] as const) {
          const question = await heard(heardOn);
          assert.equal(question.method, 'elicitation/create');
          assert.deepEqual(question.params, FORM);
          assert.match(String(question.id), /^lk\./);
          ids.add(question.id);
          const taken = await answer(replica, session, question.id, { action: 'accept', content: { yes: true, n } });
          assert.equal(taken.status, 202);
          assert.equal(await taken.text(), '');
        }
        const response = await heard(heardOn);
        assert.equal(response.id, 'my id');
        assert.deepEqual(JSON.parse(response.result!.content[0]!.text), [
          { action: 'accept', content: { yes: true, n: 1 } },
          { action: 'accept', content: { yes: true, n: 2 } },
        ]);
        assert.equal(await within(heardOn.next(), 5000, 'the end'), null);
        assert.equal(ids.size, 2);
        assert.deepEqual(node.begun, ['ask']);
        await eventually(async () => assert.deepEqual(await keys(session), []));
      });
    }

    test('numbers and unknown fields of an answer come through byte for byte, the envelope does not', async () => {
      node.script('ask', async (running) => JSON.stringify(await running.ask('a b"c', 'elicitation/create', FORM)));
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      const heardOn = await stream(session, 'ask');
      const { id } = await heard(heardOn);
      const raw = `{"jsonrpc":"2.0","id":"${String(id)}","result":{"_meta":{"x":1},"action":"accept","content":{"n":12345678901234567890.10},"later":[1e3]}}`;
      assert.equal((await post(world.replicas[1], raw, { session })).status, 202);
      await heard(heardOn);
      const sent = world.upstream.seen.find(({ params }) => params.includes('inputResponses'))?.params ?? '';
      assert.ok(
        sent.includes(
          '"inputResponses":{"a b\\"c":{"action":"accept","content":{"n":12345678901234567890.10},"later":[1e3]}}',
        ),
        sent,
      );
    });

    test('progress, logs and the result flow while a question waits, and it is withdrawn at the end', async () => {
      let go!: () => void;
      const gate = new Promise<void>((resolve) => {
        go = resolve;
      });
      node.script('ask', async (running) => {
        running.progress(1);
        running.ask('k', 'elicitation/create', FORM).catch(() => undefined);
        await gate;
        running.progress(2);
        running.log('still here');
        return 'done without you';
      });
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      await (
        await post(
          world.replicas[0],
          { jsonrpc: '2.0', id: 0, method: 'logging/setLevel', params: { level: 'info' } },
          { session },
        )
      ).text();
      const heardOn = await stream(session, 'ask', 1, { progressToken: 't' });
      assert.deepEqual((await heard(heardOn)).params, { progressToken: 't', progress: 1 });
      const question = await heard(heardOn);
      go();
      assert.deepEqual((await heard(heardOn)).params, { progressToken: 't', progress: 2 });
      assert.deepEqual((await heard(heardOn)).params, { level: 'info', data: 'still here' });
      const cancelled = await heard(heardOn);
      assert.equal(cancelled.method, 'notifications/cancelled');
      assert.equal(cancelled.params?.requestId, question.id);
      assert.equal((await heard(heardOn)).result?.content[0]?.text, 'done without you');
      assert.equal((await answer(1, session, question.id, { action: 'accept' })).status, 202);
      assert.deepEqual(node.got, []);
    });

    test('a question that the server withdraws is cancelled, one beside it is asked and answered', async () => {
      node.script('ask', async (running) => {
        running.ask('old', 'elicitation/create', FORM).catch(() => undefined);
        const other = running.ask('new', 'roots/list');
        await eventually(() => world.upstream.seen.some(({ ask }) => ask.wait === true));
        running.withdraw('old');
        return JSON.stringify(await other);
      });
      const session = await open(world.replicas[0], '2025-06-18', CAN);
      const heardOn = await stream(session, 'ask');
      const asked = [await heard(heardOn), await heard(heardOn)];
      const roots = asked.find((q) => q.method === 'roots/list')!;
      const form = asked.find((q) => q.method === 'elicitation/create')!;
      assert.equal('params' in roots, false);
      const cancelled = await heard(heardOn);
      assert.deepEqual([cancelled.method, cancelled.params?.requestId], ['notifications/cancelled', form.id]);
      assert.equal((await answer(1, session, roots.id, { roots: [{ uri: 'file:///a' }] })).status, 202);
      assert.equal((await heard(heardOn)).result?.content[0]?.text, '{"roots":[{"uri":"file:///a"}]}');
    });

    test('errors: an elicitation is cancelled, a refusal of sampling or roots keeps its code and words', async () => {
      node.script('ask', async (running) => {
        const answers = [
          await running.ask('a', 'elicitation/create', FORM),
          await running.ask('b', 'sampling/createMessage', { messages: [], maxTokens: 1 }),
        ];
        return JSON.stringify(answers);
      });
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      const heardOn = await stream(session, 'ask');
      for (let i = 0; i < 2; i++) {
        const { id } = await heard(heardOn);
        const error = { code: -1, message: 'User rejected', data: { secret: 1 } };
        assert.equal((await post(world.replicas[1], { jsonrpc: '2.0', id, error }, { session })).status, 202);
      }
      assert.deepEqual(JSON.parse((await heard(heardOn)).result!.content[0]!.text), [
        { action: 'cancel' },
        { 'lk/error': { code: -1, message: 'User rejected' } },
      ]);
    });

    test('an answer counts once: twice at once, twice in turn, late, of another’s session', async () => {
      node.script('ask', async (running) => JSON.stringify(await running.ask('k', 'elicitation/create', FORM)));
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      const bob = await open(world.replicas[1], '2025-11-25', CAN, { user: 'acme/bob/app' });
      const heardOn = await stream(session, 'ask');
      const { id } = await heard(heardOn);
      assert.equal((await answer(1, bob, id, { action: 'accept', who: 'bob' }, 'acme/bob/app')).status, 202);
      assert.equal((await answer(1, session, id, { action: 'accept', who: 'bob' }, 'acme/bob/app')).status, 404);
      const both = [0, 1, 0, 1].map((r, i) => answer(r as 0 | 1, session, id, { action: 'accept', i }));
      for (const one of both) assert.equal((await one).status, 202);
      await heard(heardOn);
      assert.equal((await answer(0, session, id, { action: 'decline' })).status, 202);
      for (const odd of ['lk.nothing', 7, 'x']) assert.equal((await answer(0, session, odd, {})).status, 202);
      assert.equal(node.got.length, 1);
      assert.equal(node.got[0]?.response.who, undefined);
      assert.deepEqual(world.upstream.audit.filter(({ outcome }) => outcome === 'foreign-answer').length, 1);
    });

    test('a cancel ends the call and takes its question back, without a response', async () => {
      node.script('ask', async (running) => JSON.stringify(await running.ask('k', 'elicitation/create', FORM)));
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      const heardOn = await stream(session, 'ask', 9);
      const question = await heard(heardOn);
      await eventually(async () => {
        await (
          await post(world.replicas[1], notification('notifications/cancelled', { requestId: 9 }), { session })
        ).text();
        assert.equal(world.upstream.cancelled.length > 0, true);
      });
      const cancelled = await heard(heardOn);
      assert.deepEqual([cancelled.method, cancelled.params?.requestId], ['notifications/cancelled', question.id]);
      assert.equal(await within(heardOn.next(), 5000, 'the end'), null);
      await eventually(async () => assert.deepEqual(await keys(session), []));
    });

    test('the end of the session leaves nothing behind', async () => {
      node.script('ask', async (running) => JSON.stringify(await running.ask('k', 'elicitation/create', FORM)));
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      const heardOn = await stream(session, 'ask');
      await heard(heardOn);
      assert.equal((await verb('DELETE', world.replicas[1], { session })).status, 204);
      await eventually(async () => assert.deepEqual(await keys(session), []));
    });

    describe('what cannot be shown', () => {
      const CASES: readonly [
        id: string,
        revision: string,
        can: object,
        method: string,
        params: object,
        says: RegExp,
      ][] = [
        ['elicitation before 2025-06-18', '2025-03-26', CAN, 'elicitation/create', FORM, /elicitation \(forms\)/],
        ['elicitation undeclared', '2025-11-25', {}, 'elicitation/create', FORM, /elicitation \(forms\)/],
        [
          'a URL for a client with forms',
          '2025-11-25',
          { elicitation: {} },
          'elicitation/create',
          { mode: 'url', message: 'm', url: 'https://a' },
          /elicitation \(URLs\)/,
        ],
        [
          'a URL in 2025-06-18',
          '2025-06-18',
          CAN,
          'elicitation/create',
          { mode: 'url', message: 'm', url: 'https://a' },
          /elicitation \(URLs\)/,
        ],
        [
          'a form for a client with URLs',
          '2025-11-25',
          { elicitation: { url: {} } },
          'elicitation/create',
          FORM,
          /elicitation \(forms\)/,
        ],
        ['sampling undeclared', '2025-11-25', {}, 'sampling/createMessage', { messages: [] }, /sampling/],
        ['roots undeclared', '2024-11-05', {}, 'roots/list', {}, /roots/],
      ];
      for (const [id, revision, can, method, params, says] of CASES) {
        test(`${id}: the result says what is missing, and the exchange is ended`, async () => {
          node.script('ask', async (running) => JSON.stringify(await running.ask('k', method, params)));
          const session = await open(world.replicas[0], revision, can);
          const { result } = (await (await post(world.replicas[0], call(1, 'ask'), { session })).json()) as Rpc;
          assert.equal(result?.isError, true);
          assert.match(result?.content[0]?.text ?? '', says);
          assert.deepEqual(world.upstream.cancelled, [world.upstream.seen[0]?.exchange.xid]);
        });
      }

      for (const [id, sent] of [
        ['a client that takes JSON only', { accept: 'application/json' }],
        ['a client without a session', { version: '2025-06-18' }],
      ] as const) {
        test(`${id}: likewise`, async () => {
          node.script('ask', async (running) => JSON.stringify(await running.ask('k', 'roots/list')));
          const session = await open(world.replicas[0], '2025-06-18', CAN);
          const reply = await post(world.replicas[0], call(1, 'ask'), 'accept' in sent ? { session, ...sent } : sent);
          const { result } = (await reply.json()) as Rpc;
          assert.equal(result?.isError, true);
          assert.match(result?.content[0]?.text ?? '', /event stream/);
        });
      }

      test('a list to choose from in 2025-06-18: the server hears cancel and goes on', async () => {
        node.script('ask', async (running) => {
          const several = { type: 'array', items: { type: 'string', enum: ['a', 'b'] } };
          const schema = { type: 'object', properties: { several } };
          return JSON.stringify(
            await running.ask('k', 'elicitation/create', { message: 'm', requestedSchema: schema }),
          );
        });
        const session = await open(world.replicas[0], '2025-06-18', CAN);
        const reply = await post(world.replicas[0], call(1, 'ask'), { session });
        assert.match(await reply.text(), /\{\\"action\\":\\"cancel\\"\}/);
      });
    });

    test('a URL has one id, is asked for once, polled for after that, and then said to be done', async () => {
      node.script('ask', async (running) => {
        const url = { mode: 'url', message: 'Sign in', url: 'https://a.example/?x=1&y=%20' };
        const answers = [
          await running.ask('k', 'elicitation/create', url),
          await running.ask('k', 'elicitation/create', url),
        ];
        return JSON.stringify(answers);
      });
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      const heardOn = await stream(session, 'ask');
      const question = await heard(heardOn);
      const { elicitationId, ...shown } = question.params ?? {};
      assert.deepEqual(shown, { mode: 'url', message: 'Sign in', url: 'https://a.example/?x=1&y=%20' });
      assert.equal(typeof elicitationId, 'string');
      assert.equal((await answer(1, session, question.id, { action: 'accept' })).status, 202);
      const complete = await heard(heardOn);
      assert.deepEqual([complete.method, complete.params], ['notifications/elicitation/complete', { elicitationId }]);
      assert.deepEqual(JSON.parse((await heard(heardOn)).result!.content[0]!.text), [
        { action: 'accept' },
        { action: 'accept' },
      ]);
    });

    test('a round without questions is tried again', async () => {
      node.script('ask', async (running) => {
        await running.pause();
        await running.pause();
        return 'at last';
      });
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      const heardOn = await stream(session, 'ask');
      assert.equal((await heard(heardOn)).result?.content[0]?.text, 'at last');
    });

    test('-32042 of a legacy server is that error again, with ids of ours', async () => {
      node.origin = { wasUrlError: true };
      node.script('ask', async (running) => {
        const url = { mode: 'url', message: 'Sign in', url: 'https://a.example', elicitationId: 'theirs' };
        return JSON.stringify(await running.ask('k', 'elicitation/create', url));
      });
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      const reply = await post(world.replicas[0], call(3, 'ask'), { session });
      const body = (await reply.json()) as {
        id: number;
        error: { code: number; data: { elicitations: Record<string, unknown>[] } };
      };
      assert.deepEqual([body.id, body.error.code], [3, -32042]);
      const [{ elicitationId, ...one } = {}] = body.error.data.elicitations;
      assert.deepEqual(one, { mode: 'url', message: 'Sign in', url: 'https://a.example' });
      assert.notEqual(elicitationId, 'theirs');
    });

    test('GB-072: questions of two calls go each on its own stream', async () => {
      node.script('ask', async (running) => JSON.stringify(await running.ask('k', 'elicitation/create', FORM)));
      const session = await open(world.replicas[0], '2025-11-25', CAN);
      const streams = [await stream(session, 'ask', 1), await stream(session, 'ask', 2)];
      const questions = [await heard(streams[0]!), await heard(streams[1]!)];
      assert.notEqual(questions[0]?.id, questions[1]?.id);
      for (const i of [1, 0]) {
        await (await answer(1, session, questions[i]?.id, { action: 'accept', content: { i } })).text();
        const response = await heard(streams[i]!);
        assert.equal(response.id, i + 1);
        assert.deepEqual(JSON.parse(response.result!.content[0]!.text), { action: 'accept', content: { i } });
      }
    });
  });
}
