// `input_required` and its retry on the wire of a modern client (protocol.md §2.8, §2.4, §2.5): the ladder's last two
// rungs, what is stamped, and which closing of a connection is a cancel. A real route behind a real rim.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { Exchange } from '../../src/exchange.ts';
import type { LinkAnswer } from '../../src/link/contract.ts';
import { ALL, asking, asks, FORM } from '../route/asking.ts';
import { fault, specOf, stageOf } from '../route/stage.ts';
import {
  CC,
  eventsOf,
  headOf,
  modernParts,
  openSocket,
  type Rig,
  readReply,
  sendModern,
  startRig,
  until,
} from './rig.ts';

type Json = Record<string, unknown>;
type Wire = { id: unknown; result?: Json; error?: { code: number; data?: Json; message: string } };

const NAMED = { name: 'delete', arguments: { id: 7 } };

let rig: Rig;
let stage: ReturnType<typeof stageOf>;

beforeEach(async () => {
  rig = await startRig();
  stage = stageOf({ servers: { everything: { call: asking(FORM, 'x.1.n') } }, deps: { questions: true } });
  const servers = new Map([['acme/everything', specOf('everything')]]);
  rig.snapshot = { ...rig.snapshot, servers };
  rig.answer = stage.route.answer;
});
afterEach(() => rig.close());

function call(
  more: { params?: Json; capabilities?: object; headers?: Record<string, string | null>; meta?: Json } = {},
) {
  const { params = NAMED, capabilities = ALL, headers = {}, meta = {} } = more;
  const made = { method: 'tools/call', id: 'q', params, meta: { [CC]: capabilities, ...meta } };
  return { ...made, headers: { 'Mcp-Name': String(params.name), ...headers } };
}

const read = (body: string) => JSON.parse(body) as Wire;

async function askedState(): Promise<unknown> {
  return read((await sendModern(rig.port, call())).body).result?.requestState;
}

const retry = (requestState: unknown) => ({ ...NAMED, inputResponses: { k: { action: 'decline' } }, requestState });

test('a question is a result of its own type, 200, JSON, without caching fields; its row says so', async () => {
  const reply = await sendModern(rig.port, call());
  assert.equal(reply.status, 200);
  assert.match(reply.headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(reply.headers.get('cache-control'), 'no-store');
  const { id, result } = read(reply.body);
  assert.equal(id, 'q');
  assert.deepEqual(Object.keys(result ?? {}).sort(), ['_meta', 'inputRequests', 'requestState', 'resultType']);
  assert.equal(result?.resultType, 'input_required');
  assert.deepEqual([rig.audit[0]?.outcome, rig.audit[0]?.continues], ['input-required', null]);
});

test('the retry is answered on a connection and with an id of its own, and its row names the exchange', async () => {
  const state = await askedState();
  const reply = await sendModern(rig.port, { ...call({ params: retry(state) }), id: 2 });
  const { id, result } = read(reply.body);
  assert.deepEqual([reply.status, id, result?.resultType], [200, 2, 'complete']);
  await until(() => rig.audit.length === 2);
  const [first, second] = rig.audit;
  assert.notEqual(second?.xid, first?.xid);
  assert.deepEqual([second?.continues, second?.outcome, second?.server], [first?.xid, 'ok', 'everything']);
});

test('#21 a requestState that does not count is -32602 at 200, and nothing is called', async () => {
  const state = String(await askedState());
  const calls = stage.sentOf('tools/call').length;
  for (const bad of ['', 'lk1.a.AAAA', `${state}A`, null, 7]) {
    const reply = await sendModern(rig.port, call({ params: retry(bad) }));
    assert.deepEqual(
      [reply.status, read(reply.body).error?.code, read(reply.body).id],
      [200, -32602, 'q'],
      String(bad),
    );
  }
  assert.equal(stage.sentOf('tools/call').length, calls);
  await until(() => rig.audit.length === 6);
  assert.deepEqual([rig.audit[1]?.outcome, rig.audit[1]?.detail], ['bad-state', 'requestState: unreadable']);
});

test('#21 comes after the headers: a wrong Mcp-Name is -32020 although the state is bad too', async () => {
  const reply = await sendModern(rig.port, call({ params: retry('forged'), headers: { 'Mcp-Name': 'other' } }));
  assert.deepEqual([reply.status, read(reply.body).error?.code], [400, -32020]);
});

const LACKING = '{"requiredCapabilities":{"elicitation":{"url":{}}}}';
const lacking = (): LinkAnswer => fault('capability', { code: -32021, message: 'needs a URL', data: LACKING });

test('#22 a capability that the request lacks is 400 and -32021 with what to declare', async () => {
  stage.servers.everything!.call = lacking;
  const reply = await sendModern(rig.port, call({ capabilities: { elicitation: {} } }));
  const { error } = read(reply.body);
  assert.deepEqual([reply.status, error?.code], [400, -32021]);
  assert.deepEqual(error?.data?.requiredCapabilities, { elicitation: { url: {} } });
});

test('#22 once something was streamed the status is 200 already, and the code is the last message', async () => {
  stage.servers.everything!.events = [['notifications/progress', '"progress":1']];
  stage.servers.everything!.call = lacking;
  const given = call({ capabilities: { elicitation: {} }, meta: { progressToken: 5 } });
  const reply = await sendModern(rig.port, given);
  assert.equal(reply.status, 200);
  const events = eventsOf(reply.body) as Wire[];
  assert.equal(events.length, 2);
  assert.equal(events[1]?.error?.code, -32021);
});

test('a question after progress is the last event of its stream', async () => {
  stage.servers.everything!.events = [['notifications/progress', '"progress":1']];
  const reply = await sendModern(rig.port, call({ meta: { progressToken: 5 } }));
  const events = eventsOf(reply.body) as Wire[];
  assert.equal(events.at(-1)?.result?.resultType, 'input_required');
});

test('closing after the question is written cancels nothing; closing a retry before its answer cancels the waiter', async () => {
  const signals: Exchange['signal'][] = [];
  rig.answer = (exchange, ask, listener) => {
    signals.push(exchange.signal);
    return stage.route.answer(exchange, ask, listener);
  };
  const state = await askedState();
  assert.equal(signals[0]?.aborted, false);
  stage.servers.everything!.call = () => new Promise(() => {});
  const { start, lines, body } = modernParts(call({ params: retry(state) }));
  const socket = openSocket(rig.port);
  socket.write(headOf(start, lines, body));
  socket.write(body);
  await until(() => signals.length === 2);
  const over = readReply(socket).catch(() => null);
  socket.destroy();
  await over;
  await until(() => signals[1]?.aborted === true);
  await until(() => rig.audit.length === 2);
  assert.equal(rig.audit[1]?.outcome, 'vanished');
});

test('a question that the caller cannot be asked is a tool result in words, not an empty success', async () => {
  stage.servers.everything!.call = () => asks(FORM, 'st');
  const reply = await sendModern(rig.port, call({ capabilities: { sampling: {} } }));
  const { result } = read(reply.body);
  assert.equal(result?.isError, true);
  assert.match(JSON.stringify(result?.content), /elicitation\.form, which the client did not declare/);
});
