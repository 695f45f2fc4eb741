// The cells of progress, log, cancel, list_changed, updated and completion (protocol.md §5.1–§5.4, §1.3).

import assert from 'node:assert/strict';
import { eventually } from '../harness/eventually.ts';
import { callOf, type Era, type Feature, type Json, metaOf, paramsOf, those, toServer } from './cell.ts';
import type { MatrixClient } from './clients.ts';
import { NOTE } from './servers/what-it-does.ts';

type Messages = readonly Json[];
const heardOf = (client: MatrixClient, method: string) => those(client.wire.heard, `notifications/${method}`);
const toldOf = (client: MatrixClient, method: string) => those(client.told, `notifications/${method}`);
const tokenOf = (message: Json | undefined) => (paramsOf(message)._meta as Json | undefined)?.progressToken;
const both = (side: Feature['down'][Era]): Feature['down'] => ({ legacy: side, modern: side });

const progress: Feature = {
  name: 'progress',
  everywhere: true,
  act: async (client) => {
    const steps: Json[] = [];
    await client.call('progress', {}, { onprogress: (step) => void steps.push(step) });
    assert.deepEqual(
      steps.map((step) => [step.progress, step.total, step.message]),
      [
        [1, 2, 'step 1'],
        [2, 2, 'step 2'],
      ],
    );
  },
  down: both({
    right: 'the client sees its own token, on the stream of its call, before the result',
    holds: ({ down }) => {
      const token = tokenOf(those(down.sent, 'tools/call')[0]);
      assert.notEqual(token, undefined);
      const steps = those(down.heard, 'notifications/progress');
      assert.deepEqual(
        steps.map((step) => paramsOf(step).progressToken),
        [token, token],
      );
      const result = down.heard.findIndex((one) => one.id === those(down.sent, 'tools/call')[0]!.id);
      assert.ok(down.heard.indexOf(steps[1]!) < result);
    },
  }),
  up: both({
    right: 'the server sees a token of ours',
    holds: ({ up, down }) => {
      const ours = tokenOf(callOf(up)[0]);
      assert.notEqual(ours, undefined);
      // The clients count from 0 or 1: a token of theirs that crossed would be such a number.
      assert.notDeepEqual(ours, tokenOf(those(down.sent, 'tools/call')[0]));
    },
  }),
};

const log: Feature = {
  name: 'log',
  act: async (client) => {
    await client.call('log');
    assert.equal(heardOf(client, 'message').length, 0, 'nothing for who asked for nothing');
    await client.wantLogs();
    await client.call('log');
    await eventually(() => toldOf(client, 'message').length > 0);
    const said = toldOf(client, 'message').map((one) => paramsOf(one));
    assert.deepEqual(
      said.map(({ level, data }) => [level, data]),
      [['warning', { n: 1 }]],
    );
    assert.match(String(said[0]!.logger), /matrix$/);
  },
  down: {
    modern: {
      right: 'the client that names a level on its request gets the message before the result of that request',
      holds: ({ down }) => before(down.sent, down.heard),
    },
    legacy: {
      right: 'the session that set a level gets the message before the result of its call',
      holds: ({ down }) => {
        assert.equal(those(down.sent, 'logging/setLevel').length, 1);
        before(down.sent, down.heard);
      },
    },
  },
  up: {
    modern: {
      right: 'the server is told the level by the second call, and by no other word',
      holds: ({ up }) => {
        assert.deepEqual(
          callOf(up).map((call) => metaOf(call, 'logLevel')),
          [undefined, 'info'],
        );
        assert.equal(toServer(up, 'logging/setLevel').length, 0);
      },
    },
    legacy: {
      right: 'the server is told the level before the call that wants it, and nothing of it in the call',
      holds: ({ up, ever }) => {
        assert.deepEqual(
          callOf(up).map((call) => metaOf(call, 'logLevel')),
          [undefined, undefined],
        );
        // It may have it from an earlier call: it is told when it changes.
        const { pid } = up.find(({ message }) => message.id === callOf(up)[1]!.id)!;
        const sent = ever.filter((one) => one.by === 'lockkeeper' && one.pid === pid).map(({ message }) => message);
        const call = sent.findIndex((one) => one.method === 'tools/call' && one.id === callOf(up)[1]!.id);
        const levels = those(sent.slice(0, call), 'logging/setLevel');
        assert.equal(paramsOf(levels.at(-1)).level, 'info');
      },
    },
  },
};

function before(sent: Messages, heard: Messages): void {
  const call = those(sent, 'tools/call')[1]!;
  const said = heard.findIndex((one) => one.method === 'notifications/message');
  assert.ok(said >= 0 && said < heard.findIndex((one) => one.id === call.id && one.method === undefined));
}

const cancel: Feature = {
  name: 'cancel',
  everywhere: true,
  act: async (client, up) => {
    const stop = new AbortController();
    const steps = client.call('wait', {}, { signal: stop.signal });
    const ended = assert.rejects(steps);
    await eventually(() => callOf(up()).length === 1);
    stop.abort('enough');
    await ended;
  },
  down: {
    modern: {
      right: 'the client closes its stream and hears no more of that call',
      holds: ({ down }) => {
        assert.equal(those(down.sent, 'notifications/cancelled').length, 0);
        unanswered(down.sent, down.heard);
      },
    },
    legacy: {
      right: 'the client says so, by its own id, and hears no more of that call',
      holds: ({ down }) => {
        const said = those(down.sent, 'notifications/cancelled').map((one) => paramsOf(one).requestId);
        assert.deepEqual(said, [those(down.sent, 'tools/call')[0]!.id]);
        unanswered(down.sent, down.heard);
      },
    },
  },
  up: both({
    right: 'the server is told once, by the id that it knows',
    holds: ({ up }) => {
      const said = toServer(up, 'notifications/cancelled').map((one) => paramsOf(one).requestId);
      assert.deepEqual(said, [callOf(up)[0]!.id]);
    },
  }),
};

function unanswered(sent: Messages, heard: Messages): void {
  const { id } = those(sent, 'tools/call')[0]!;
  assert.equal(heard.filter((one) => one.id === id && one.method === undefined && one.result !== undefined).length, 0);
}

/** The listen's own id and type on everything that it brings, the acknowledgement first. */
function bySubscription(sent: Messages, heard: Messages, method: string): void {
  const [listen] = those(sent, 'subscriptions/listen');
  const mine = heard.filter((one) => metaOf(one, 'subscriptionId') !== undefined);
  assert.equal(mine[0]?.method, 'notifications/subscriptions/acknowledged');
  for (const one of mine) assert.strictEqual(metaOf(one, 'subscriptionId'), listen!.id);
  assert.equal(those(mine, method).length, 1);
}

const listChanged: Feature = {
  name: 'list_changed',
  act: async (client) => {
    // Of its own: what one process has grown another of the same person has not.
    const tool = `grown-${client.era}-${++notes}`;
    await client.tools();
    const stop = await client.follow('tools');
    await client.call('grow', { tool });
    await eventually(() => toldOf(client, 'tools/list_changed').length > 0);
    assert.ok((await client.tools()).includes(tool));
    await stop();
  },
  down: {
    modern: {
      right: 'the client hears it once, on the listen that asked',
      holds: ({ down }) => bySubscription(down.sent, down.heard, 'notifications/tools/list_changed'),
    },
    legacy: {
      right: 'the session hears it once',
      holds: ({ down }) => assert.equal(those(down.heard, 'notifications/tools/list_changed').length, 1),
    },
  },
  up: {
    modern: {
      right: 'the server has a listen of ours that wants it',
      holds: ({ ever }) => {
        const wants = toServer(ever, 'subscriptions/listen').map((one) => paramsOf(one).notifications as Json);
        assert.ok(wants.some((filter) => filter.toolsListChanged === true));
      },
    },
    legacy: {
      right: 'the server says it unasked and is asked for nothing',
      holds: ({ up }) => assert.equal(toServer(up, 'subscriptions/listen').length, 0),
    },
  },
};

/** One of its own for each client, as a subscription may outlive its client for a while. */
let notes = 0;
const noteOf = (client: MatrixClient) => `${NOTE}/${client.era}-${++notes}`;
const last = () => new RegExp(`^${NOTE}/[a-z]+-${notes}$`);

const updated: Feature = {
  name: 'updated',
  everywhere: true,
  act: async (client) => {
    const uri = noteOf(client);
    const stop = await client.follow({ uri });
    await client.call('touch', { uri });
    await eventually(() => toldOf(client, 'resources/updated').length > 0);
    assert.deepEqual(paramsOf(toldOf(client, 'resources/updated')[0]).uri, uri);
    await stop();
  },
  down: {
    modern: {
      right: 'the client hears it on the listen that named the resource',
      holds: ({ down }) => bySubscription(down.sent, down.heard, 'notifications/resources/updated'),
    },
    legacy: {
      right: 'the session that subscribed hears it once',
      holds: ({ down }) => assert.equal(those(down.heard, 'notifications/resources/updated').length, 1),
    },
  },
  up: {
    modern: {
      right: 'the server has a listen of ours that names the resource',
      holds: ({ up }) => {
        const wants = toServer(up, 'subscriptions/listen').map((one) => paramsOf(one).notifications as Json);
        assert.ok(
          wants.some((filter) =>
            (filter.resourceSubscriptions as string[] | undefined)?.some((uri) => last().test(uri)),
          ),
        );
        assert.equal(toServer(up, 'resources/subscribe').length, 0);
      },
    },
    legacy: {
      right: 'the server is subscribed to once and unsubscribed from at the end',
      holds: ({ up }) => {
        const mine = (method: string) => toServer(up, method).filter((one) => last().test(String(paramsOf(one).uri)));
        assert.equal(mine('resources/subscribe').length, 1);
        assert.equal(mine('resources/unsubscribe').length, 1);
      },
    },
  },
};

const WISH = {
  ref: { type: 'ref/prompt', name: 'p' },
  argument: { name: 'who', value: 'A' },
  context: { arguments: { x: 'y' } },
};

const completion: Feature = {
  name: 'completion',
  act: async (client) => {
    const { completion } = (await client.complete(WISH)) as { completion: { values: string[] } };
    assert.deepEqual(JSON.parse(completion.values[0]!), [WISH.ref, WISH.argument, WISH.context]);
  },
  down: both({
    right: 'the client gets the server’s values',
    holds: ({ down }) => assert.equal(those(down.sent, 'completion/complete').length, 1),
  }),
  up: {
    modern: {
      right: 'the server gets it with an envelope',
      holds: ({ up }) => assert.equal(metaOf(toServer(up, 'completion/complete')[0], 'protocolVersion'), '2026-07-28'),
    },
    legacy: {
      right: 'the server gets it without one',
      holds: ({ up }) => {
        const [asked] = toServer(up, 'completion/complete');
        assert.equal(metaOf(asked, 'protocolVersion'), undefined);
        assert.deepEqual(paramsOf(asked).context, WISH.context);
      },
    },
  },
};

export const TELLING: readonly Feature[] = [progress, log, cancel, listChanged, updated, completion];
