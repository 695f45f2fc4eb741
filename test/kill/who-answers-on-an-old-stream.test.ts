// HTTP+SSE: the gateway that took a client's POST dies by SIGKILL while another holds its stream. Is the call answered on
// that stream, and has its tool run once at most (protocol.md §3.7, design §4)?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { within } from '../harness/eventually.ts';
import { sendRaw } from '../harness/raw.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';
import { type Json, type Stage, startStage } from './stage.ts';

let redis: StartedRedis;
let stage: Stage;

before(async () => {
  redis = await startRedis();
  stage = await startStage(redis.url);
});

after(async () => {
  await stage?.stop();
  await redis?.stop();
});

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly progress?: number };
  readonly result?: { readonly content: { readonly text: string }[]; readonly isError?: boolean };
}

/** A session whose stream one gateway holds and whose POSTs go to any. */
async function connect(holder: number, capabilities: Json = {}) {
  const response = await sendRaw(stage.url(holder).replace(/mcp$/, 'sse'), {
    method: 'GET',
    headers: { accept: 'text/event-stream' },
  });
  const source = response.events();
  const event = async () => (await within(source.next(), 20_000, 'an event')).value?.data ?? '';
  const endpoint = await event();
  const client = {
    async post(gateway: number, message: Json) {
      const to = new URL(endpoint, stage.url(gateway));
      const headers = { 'content-type': 'application/json' };
      const answered = await fetch(to, {
        method: 'POST',
        headers,
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      });
      assert.equal(answered.status, 202);
    },
    next: async () => JSON.parse(await event()) as Message,
    leave: () => response.destroy(),
  };
  const params = { protocolVersion: '2025-06-18', capabilities, clientInfo: { name: 'raw', version: '1' } };
  await client.post(holder, { id: 0, method: 'initialize', params });
  await client.next();
  await client.post(holder, { method: 'notifications/initialized' });
  return client;
}

const call = (name: string, args: Json) => ({
  ...{ id: 'call', method: 'tools/call' },
  params: { name, arguments: args, _meta: { progressToken: 't' } },
});
const HOLDER = 2;
const isAnswer = ({ id }: Message) => id === 'call';
const textOf = ({ result }: Message) => result?.content[0]?.text ?? '';

async function until(client: { next(): Promise<Message> }, found: (message: Message) => boolean): Promise<Message> {
  for (;;) {
    const message = await client.next();
    if (found(message)) return message;
  }
}

describe('kill -9 of the gateway that took the POST', { concurrency: false }, () => {
  it('a question is answered at the holder of the stream, and so is its call; what runs is heard to its end', async () => {
    const [asked, told] = [await connect(HOLDER, { elicitation: {} }), await connect(HOLDER)];
    await asked.post(0, call('work', { arg: 'asked' }));
    await told.post(0, call('steps', { arg: 'steps', steps: 40, everyMs: 100 }));
    const question = await until(asked, ({ method }) => method === 'elicitation/create');
    const heard: Message[] = [await told.next()];
    await stage.cluster.gateways[0]!.process.kill();

    await asked.post(HOLDER, { id: question.id, result: { action: 'accept', content: { code: '7' } } });
    assert.equal(textOf(await until(asked, isAnswer)), 'asked: accept 7');
    while (!isAnswer(heard.at(-1)!)) heard.push(await told.next());
    assert.equal(textOf(heard.at(-1)!), 'steps: 40 steps');
    const steps = heard.flatMap(({ params }) => (params?.progress === undefined ? [] : [params.progress]));
    assert.deepEqual(
      steps,
      [...new Set(steps)].sort((a, b) => a - b),
    );
    assert.equal(steps.at(-1), 40);
    assert.deepEqual([stage.runs('asked'), stage.runs('steps')], [1, 1]);
    for (const client of [asked, told]) client.leave();
  });

  it('the node dies with it: the call is said to be lost, and is not run again', async () => {
    const client = await connect(HOLDER, { elicitation: {} });
    await client.post(1, call('pid', {}));
    const { holder } = stage.holderOf(Number(textOf(await until(client, isAnswer))));
    await client.post(1, call('work', { arg: 'lost' }));
    await until(client, ({ method }) => method === 'elicitation/create');
    const { gateways, poolManagers } = stage.cluster;
    await Promise.all([gateways[1]!.process.kill(), poolManagers[holder]!.kill()]);
    const answered = await until(client, isAnswer);
    assert.equal(answered.result?.isError, true);
    assert.match(textOf(answered), /may have run/);
    assert.equal(stage.runs('lost'), 1);
    client.leave();
  });
});
