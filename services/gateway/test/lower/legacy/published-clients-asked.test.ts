// Does a published legacy client answer what it is asked, on either transport, when each of its requests meets another
// replica, its stream is closed under it, or the replica that held it dies?

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  CreateMessageRequestSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { connectV1, type LegacyTransport } from '../../../../../test/harness/client-legacy.ts';
import { eventually } from '../../../../../test/harness/eventually.ts';
import { type AskingNode, createAskingNode } from './asking-node.ts';
import { createWorld, type Kind, type Replica, ROUTE, type World } from './replicas.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'Ann' },
    size: { type: 'string', oneOf: [{ const: 's', title: 'Small' }] },
  },
  required: ['name'],
};

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

interface Asked {
  readonly method: string;
  readonly params: Record<string, unknown> | undefined;
}

function answering(client: Client): Asked[] {
  const asked: Asked[] = [];
  client.setRequestHandler(ElicitRequestSchema, async ({ method, params }) => {
    asked.push({ method, params });
    return params.mode === 'url' ? { action: 'accept' } : { action: 'accept', content: { name: 'Bob', size: 's' } };
  });
  client.setRequestHandler(CreateMessageRequestSchema, async ({ method, params }) => {
    asked.push({ method, params });
    return { role: 'assistant', model: 'm', content: { type: 'text', text: 'four' } };
  });
  client.setRequestHandler(ListRootsRequestSchema, async ({ method, params }) => {
    asked.push({ method, params });
    return { roots: [{ uri: 'file:///home', name: 'home' }] };
  });
  return asked;
}

/** Round robin among those that live. */
function anyReplica(replicas: () => readonly Replica[]): typeof fetch {
  let turn = 0;
  return (input, init) => {
    const url = new URL(input instanceof Request ? input.url : String(input));
    const all = replicas();
    return fetch(new URL(url.pathname + url.search, all[turn++ % all.length]!.url), init);
  };
}

function scripted(): AskingNode {
  const node = createAskingNode();
  node.script('ask', async (running) => {
    const form = await running.ask('form', 'elicitation/create', { message: 'Who?', requestedSchema: SCHEMA });
    const [sampled, roots] = await Promise.all([
      running.ask('model', 'sampling/createMessage', {
        messages: [{ role: 'user', content: [{ type: 'text', text: '2+2' }] }],
        maxTokens: 10,
      }),
      running.ask('roots', 'roots/list'),
    ]);
    return JSON.stringify([form.content, sampled.content, roots.roots]);
  });
  return node;
}

const DONE = [{ name: 'Bob', size: 's' }, { type: 'text', text: 'four' }, [{ uri: 'file:///home', name: 'home' }]];

function textOf(result: Awaited<ReturnType<Client['callTool']>>): unknown {
  const [block] = result.content as { text: string }[];
  return JSON.parse(block?.text ?? 'null');
}

for (const kind of ['memory', 'redis'] satisfies Kind[]) {
  for (const how of ['streamable', 'sse'] satisfies LegacyTransport[]) {
    describe(`SDK v1 over ${how}, ${kind} store`, () => {
      let world: World;
      let node: AskingNode;
      before(async () => {
        world = await createWorld(kind);
      });
      after(() => world.close());
      beforeEach(() => {
        node = scripted();
        world.upstream.answer = node.answer;
      });

      const connect = () =>
        connectV1(world.replicas[0].url + ROUTE.path, how, {
          fetch: anyReplica(() => world.replicas),
          capabilities: CAPABILITIES,
        });

      test('forms, sampling and roots, several at once', async (t) => {
        const client = await connect();
        t.after(() => client.close());
        const errors: unknown[] = [];
        client.onerror = (error) => void errors.push(error);
        const asked = answering(client);
        assert.deepEqual(textOf(await client.callTool({ name: 'ask' })), DONE);
        assert.deepEqual(asked.map(({ method }) => method).sort(), [
          'elicitation/create',
          'roots/list',
          'sampling/createMessage',
        ]);
        assert.deepEqual(asked.find(({ method }) => method === 'elicitation/create')?.params, {
          message: 'Who?',
          requestedSchema: SCHEMA,
        });
        assert.deepEqual(errors, []);
      });

      test('many calls at once, each asked its own', async (t) => {
        const client = await connect();
        t.after(() => client.close());
        answering(client);
        const calls = Array.from({ length: 20 }, () => client.callTool({ name: 'ask' }));
        for (const call of calls) assert.deepEqual(textOf(await call), DONE);
        assert.equal(node.got.length, 60);
      });

      test('a URL, and word that it is done', async (t) => {
        node.script('ask', async (running) => {
          const url = { mode: 'url', message: 'Sign in', url: 'https://a.example/x' };
          return JSON.stringify((await running.ask('url', 'elicitation/create', url)).action);
        });
        const client = await connect();
        t.after(() => client.close());
        const asked = answering(client);
        const done: string[] = [];
        client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
          done.push(params.elicitationId);
        });
        assert.equal(textOf(await client.callTool({ name: 'ask' })), 'accept');
        await eventually(() => done.length > 0);
        assert.deepEqual(done, [asked[0]?.params?.elicitationId]);
      });
    });
  }

  test(`a stream that is closed under a client is polled, ${kind} store`, async (t) => {
    const world = await createWorld(kind);
    t.after(() => world.close());
    world.snapshot.value = { ...world.snapshot.value, routes: [{ ...ROUTE, closeStreamsAfterMs: 30 }] };
    const node = createAskingNode();
    world.upstream.answer = node.answer;
    let polls = 0;
    const polled = async () => {
      const before = polls;
      await eventually(() => polls > before, { deadlineMs: 10_000 });
    };
    node.script('ask', async (running) => {
      await polled();
      const form = await running.ask('form', 'elicitation/create', { message: 'Who?', requestedSchema: SCHEMA });
      await polled();
      return JSON.stringify(form.content);
    });
    const any = anyReplica(() => world.replicas);
    const client = await connectV1(world.replicas[0].url + ROUTE.path, 'streamable', {
      capabilities: CAPABILITIES,
      fetch: (input, init) => {
        if (new Headers(init?.headers).get('last-event-id')?.startsWith('p')) polls++;
        return any(input, init);
      },
    });
    t.after(() => client.close());
    const asked = answering(client);
    assert.deepEqual(textOf(await client.callTool({ name: 'ask' })), { name: 'Bob', size: 's' });
    assert.deepEqual(node.begun, ['ask']);
    assert.equal(asked.length, 1);
  });

  test(`a client whose replica dies under it is answered by the other, ${kind} store`, async (t) => {
    const world = await createWorld(kind);
    t.after(() => world.close());
    const node = createAskingNode();
    world.upstream.answer = node.answer;
    let alive = world.replicas.slice(0, 1);
    node.script('ask', async (running) => {
      running.progress(1);
      const first = await running.ask('form', 'elicitation/create', { message: 'Who?', requestedSchema: SCHEMA });
      await world.replicas[0].kill();
      running.progress(2);
      const second = await running.ask('form', 'elicitation/create', { message: 'And?', requestedSchema: SCHEMA });
      return JSON.stringify([first.action, second.action]);
    });
    const client = await connectV1(world.replicas[0].url + ROUTE.path, 'streamable', {
      fetch: anyReplica(() => alive),
      capabilities: CAPABILITIES,
    });
    t.after(() => client.close());
    const steps: number[] = [];
    const asked = answering(client);
    const calling = client.callTool({ name: 'ask' }, undefined, {
      onprogress: ({ progress }) => void steps.push(progress),
    });
    await eventually(() => asked.length > 0);
    alive = world.replicas.slice(1);
    assert.deepEqual(textOf(await calling), ['accept', 'accept']);
    assert.deepEqual(steps, [1, 2]);
    assert.deepEqual(node.begun, ['ask']);
    assert.deepEqual(
      asked.map(({ params }) => params?.message),
      ['Who?', 'And?'],
    );
  });
}
