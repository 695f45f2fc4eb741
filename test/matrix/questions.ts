// The cells of form, url, sampling and roots (protocol.md §5.1–§5.5, §1.7, §1.8).

import assert from 'node:assert/strict';
import { answersTo, asking, callOf, type Feature, fromServer, type Json, paramsOf, resultOf, those } from './cell.ts';
import { ANSWERS, type MatrixClient } from './clients.ts';
import { FORM, LINK, QUESTIONS } from './servers/what-it-does.ts';

type Kind = 'form' | 'url' | 'sampling' | 'roots';
const METHOD = (kind: Kind) => QUESTIONS[kind]!.method;
const STATE = 'state of the server: {"é": 1.0} %2F+/=';

async function act(client: MatrixClient, kind: Kind): Promise<void> {
  const result = await client.call(kind);
  assert.deepEqual(JSON.parse((result.content as { text: string }[])[0]!.text), ANSWERS[kind]);
  assert.equal(client.asked.length, 1, 'asked once');
}

/** What of the question must be as the server said it. */
function faithful(kind: Kind, params: Json): void {
  if (kind === 'form') assert.deepEqual(params.requestedSchema, FORM);
  if (kind === 'url') assert.equal(params.url, LINK);
  if (kind === 'form' || kind === 'url')
    assert.match(String(params.message), /^Server "[a-z0-9-]+" asks: (Which|Sign)/);
  if (kind !== 'sampling') return;
  const { includeContext, ...rest } = params;
  const { includeContext: _scoped, ...asked } = QUESTIONS.sampling!.params;
  assert.deepEqual(rest, asked);
  assert.ok(includeContext === undefined || includeContext === 'none', 'no context of other servers');
}

const SAYS: Readonly<Record<Kind, string>> = {
  form: 'its form, untouched but for who asks,',
  url: 'its url, byte for byte,',
  sampling: 'its sampling request, without context of others,',
  roots: 'its wish for roots',
};

function question(kind: Kind): Feature {
  const method = METHOD(kind);
  return {
    name: kind,
    everywhere: true,
    act: (client) => act(client, kind),
    down: {
      modern: {
        right: `the client gets ${SAYS[kind]} inside input_required with our sealed state and asks again under a new id`,
        holds: ({ down }) => {
          assert.equal(those(down.heard, method).length, 0, 'never a request on the wire');
          const [round, ...more] = asking(down.heard);
          assert.equal(more.length, 0);
          const requests = Object.values(resultOf(round).inputRequests as Record<string, Json>);
          assert.deepEqual(
            requests.map((one) => one.method),
            [method],
          );
          faithful(kind, (requests[0]!.params ?? {}) as Json);
          assert.equal(requests[0]!.id, undefined);
          assert.equal((requests[0]!.params as Json | undefined)?.elicitationId, undefined);
          const state = String(resultOf(round).requestState);
          assert.match(state, /^lk1\./);
          assert.ok(!state.includes('state of the server'));
          const calls = those(down.sent, 'tools/call');
          assert.equal(calls.length, 2);
          assert.notEqual(calls[0]!.id, calls[1]!.id);
          assert.equal(paramsOf(calls[1]).requestState, state);
        },
      },
      legacy: {
        right: `the client gets ${SAYS[kind]} as a request on its call's stream and answers that`,
        holds: ({ down, up }) => {
          assert.equal(asking(down.heard).length, 0, 'nothing of another era');
          const [request, ...more] = those(down.heard, method);
          assert.equal(more.length, 0);
          faithful(kind, paramsOf(request));
          const answers = down.sent.filter((one) => one.method === undefined && one.id === request!.id);
          assert.deepEqual(answers[0]?.result, ANSWERS[kind]);
          assert.equal(those(down.sent, 'tools/call').length, 1);
          const servers = fromServer(up, method).map(({ id }) => id);
          assert.ok(!servers.includes(request!.id), 'our id, not the server’s');
          if (kind === 'url') urlOfASession(paramsOf(request), down.heard);
        },
      },
    },
    up: {
      modern: {
        right: 'the server gets a second call with its own state and the answer',
        holds: ({ up }) => {
          const calls = callOf(up);
          assert.equal(calls.length, 2);
          assert.notEqual(calls[0]!.id, calls[1]!.id);
          assert.equal(paramsOf(calls[0]).requestState, undefined);
          assert.equal(paramsOf(calls[1]).requestState, STATE);
          assert.deepEqual(paramsOf(calls[1]).inputResponses, { q: ANSWERS[kind] });
          assert.equal(up.filter(({ by, message }) => by === 'lockkeeper' && message.method === undefined).length, 0);
        },
      },
      legacy: {
        right: 'the server gets one call and one answer, to the id it asked with',
        holds: ({ up }) => {
          assert.equal(callOf(up).length, 1);
          assert.deepEqual(Object.keys(paramsOf(callOf(up)[0])).sort(), ['_meta', 'arguments', 'name']);
          const answers = answersTo(up, method);
          assert.equal(answers.length, 1);
          assert.deepEqual(answers[0]!.result, ANSWERS[kind]);
        },
      },
    },
  };
}

/** An id of ours, and word to this session that it is over (2025-11-25). */
function urlOfASession(params: Json, heard: readonly Json[]): void {
  const id = params.elicitationId;
  assert.equal(typeof id, 'string');
  assert.notEqual(id, 'elicitation-of-the-server');
  const complete = those(heard, 'notifications/elicitation/complete');
  assert.deepEqual(
    complete.map((one) => paramsOf(one).elicitationId),
    [id],
  );
}

export const ASKING: readonly Feature[] = (['form', 'url', 'sampling', 'roots'] as const).map(question);
