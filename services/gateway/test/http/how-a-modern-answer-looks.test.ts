// Form and bytes of a modern answer (protocol.md §2.4, §2.11, §1.5): what is stamped, what is left alone, when it is a
// stream, and how a refusal looks in each.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { AnswerListener } from '../../src/exchange.ts';
import {
  bytes,
  eventsOf,
  headOf,
  type ModernCall,
  modernParts,
  okAnswer,
  openSocket,
  parseReply,
  type Rig,
  readReply,
  refusalAnswer,
  send,
  sendModern,
  snapshotOf,
  startRig,
  until,
} from './rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await startRig();
});
afterEach(() => rig.close());

const PROGRESS = 'notifications/progress';
const MESSAGE = 'notifications/message';
const LL = 'io.modelcontextprotocol/logLevel';
const CALL: ModernCall = {
  method: 'tools/call',
  params: { name: 'echo', arguments: {} },
  headers: { 'Mcp-Name': 'echo' },
};

/** An answer that tells its events first. */
function telling(...events: [string, string][]) {
  return async (_exchange: unknown, _ask: unknown, listener: AnswerListener) => {
    for (const [method, members] of events) listener.event(method, bytes(members));
    return okAnswer('"content":[]');
  };
}

test("a result is the server's own bytes between our stamps", async () => {
  const members = '"big":12345678901234567890,"z":1.0,"a":{"é":"\\u00e9"},  "content":[]';
  rig.answer = async () => okAnswer(members, '"com.example/x":{"y":1.50}');
  const reply = await sendModern(rig.port, {});
  assert.equal(
    reply.body,
    '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":' +
      `{"name":"lockkeeper","version":"0.1.0"},"com.example/x":{"y":1.50}},${members}}}`,
  );
});

test('an empty result is a result', async () => {
  rig.answer = async () => okAnswer('');
  const result = (JSON.parse((await sendModern(rig.port, {})).body) as { result: object }).result;
  assert.deepEqual(Object.keys(result), ['resultType', '_meta']);
});

for (const id of [
  '0',
  '1',
  '"0"',
  '"1"',
  '"req-abc"',
  '""',
  '"01"',
  '-5',
  '2147483648',
  '12345678901234567890',
  '"\\u0061"',
]) {
  test(`GB-080: id ${id} comes back as it was written, in results, refusals and streams`, async () => {
    const ask = (extra: string, method = 'tools/list') => {
      const { start, lines } = modernParts({ method });
      const meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`;
      return send(
        rig.port,
        start,
        lines,
        `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{"_meta":{${meta}${extra}}}}`,
      );
    };
    const mark = `{"jsonrpc":"2.0","id":${id},`;
    assert.ok((await ask('')).body.startsWith(`${mark}"result":`));
    assert.ok((await ask('', 'foo/bar')).body.startsWith(`${mark}"error":`));
    rig.answer = async () => refusalAnswer({ reason: 'upstream', code: 1001, message: 'no' });
    assert.ok((await ask('')).body.startsWith(`${mark}"error":`));
    rig.answer = telling([PROGRESS, '"progress":1']);
    assert.ok((await ask(',"progressToken":1')).body.includes(`data: ${mark}"result":`));
  });
}

test('GB-083: progress carries the token as the client wrote it, number or string', async () => {
  rig.answer = telling([PROGRESS, '"progress":1,"total":2.0'], [PROGRESS, '"progress":2,"message":"m"']);
  for (const token of [7, '7', 'progress-test-1']) {
    const reply = await sendModern(rig.port, { ...CALL, meta: { progressToken: token } });
    assert.equal(reply.headers.get('content-type'), 'text/event-stream');
    assert.equal(reply.headers.get('x-accel-buffering'), 'no');
    assert.equal(reply.headers.get('cache-control'), 'no-store');
    const events = eventsOf(reply.body) as { params?: { progressToken: unknown }; result?: unknown }[];
    assert.equal(events.length, 3);
    assert.deepEqual(
      events.slice(0, 2).map((e) => e.params?.progressToken),
      [token, token],
    );
    assert.ok(events[2]?.result !== undefined);
    assert.ok(!/^(id|event|retry):/m.test(reply.body), 'a modern stream has no ids, names or retries');
  }
});

test('GB-084: without a token no progress goes out, and the answer stays JSON', async () => {
  rig.answer = telling([PROGRESS, '"progress":1']);
  const reply = await sendModern(rig.port, CALL);
  assert.equal(reply.headers.get('content-type'), 'application/json');
});

test('progress that does not rise is left out', async () => {
  rig.answer = telling(...([1, 1, 0.5, 2, 1.5, 3].map((n) => [PROGRESS, `"progress":${n}`]) as [string, string][]), [
    PROGRESS,
    '"progress":"4"',
  ]);
  const reply = await sendModern(rig.port, { ...CALL, meta: { progressToken: 1 } });
  const values = (eventsOf(reply.body) as { params?: { progress: number } }[]).flatMap((e) => e.params?.progress ?? []);
  assert.deepEqual(values, [1, 2, 3]);
});

test('log messages go out from the level asked for, and only if one was', async () => {
  rig.answer = telling(
    [MESSAGE, '"level":"debug","data":1'],
    [MESSAGE, '"level":"warning","data":{"k":2.0}'],
    [MESSAGE, '"level":"loud","data":3'],
  );
  const asked = await sendModern(rig.port, { ...CALL, meta: { [LL]: 'info' } });
  const [first, last, ...none] = eventsOf(asked.body) as { params?: unknown; result?: unknown }[];
  assert.deepEqual(first?.params, { level: 'warning', data: { k: 2 } });
  assert.ok(last?.result !== undefined);
  assert.equal(none.length, 0);
  const unasked = await sendModern(rig.port, CALL);
  assert.equal(unasked.headers.get('content-type'), 'application/json');
});

test('GB-147: a client that takes JSON only gets JSON, events or not', async () => {
  rig.answer = telling([PROGRESS, '"progress":1']);
  const reply = await sendModern(rig.port, {
    ...CALL,
    meta: { progressToken: 1 },
    headers: { ...CALL.headers, Accept: 'application/json' },
  });
  assert.equal(reply.headers.get('content-type'), 'application/json');
});

test('a client that takes streams only gets its result as one', async () => {
  const reply = await sendModern(rig.port, { headers: { Accept: 'text/event-stream' } });
  assert.equal(reply.headers.get('content-type'), 'text/event-stream');
  assert.equal((eventsOf(reply.body) as unknown[]).length, 1);
});

test('raw line breaks between tokens do not break an event', async () => {
  rig.answer = async (_e, _a, listener) => {
    listener.event(PROGRESS, bytes('"progress":1,\r\n"message":\n"a\\nb"'));
    return okAnswer('"content":\n[]');
  };
  const reply = await sendModern(rig.port, { ...CALL, meta: { progressToken: 1 } });
  const [first] = eventsOf(reply.body) as { params: { message: string } }[];
  assert.equal(first?.params.message, 'a\nb');
});

test('-32021 is 400 while nothing was sent, and the last event at 200 afterwards', async () => {
  const refusal = { reason: 'capability', data: '{"requiredCapabilities":{"sampling":{}}}' } as const;
  rig.answer = async () => refusalAnswer(refusal);
  const early = await sendModern(rig.port, { ...CALL, meta: { progressToken: 1 } });
  assert.equal(early.status, 400);
  const error = (JSON.parse(early.body) as { error: { code: number; data: { requiredCapabilities: unknown } } }).error;
  assert.equal(error.code, -32021);
  assert.deepEqual(error.data.requiredCapabilities, { sampling: {} });
  rig.answer = async (_e, _a, listener) => {
    listener.event(PROGRESS, bytes('"progress":1'));
    return refusalAnswer(refusal);
  };
  const late = await sendModern(rig.port, { ...CALL, meta: { progressToken: 1 } });
  assert.equal(late.status, 200);
  const events = eventsOf(late.body) as { error?: { code: number }; id?: unknown }[];
  assert.deepEqual([events.length, events[1]?.error?.code, events[1]?.id], [2, -32021, 1]);
});

test('after the hold a client that asked for events gets its stream opened, result or not', async () => {
  rig.snapshot = snapshotOf({ limits: { holdMs: 20 } });
  let release: (() => void) | undefined;
  rig.answer = () => new Promise((resolve) => (release = () => resolve(okAnswer('"content":[]'))));
  const { start, lines, body } = modernParts({ ...CALL, meta: { progressToken: 1 } });
  const socket = openSocket(rig.port);
  socket.write(headOf(start, lines, body) + body);
  const head = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
  assert.match(head.toString(), /^HTTP\/1\.1 200 .*text\/event-stream/s);
  const rest = readReply(socket);
  release?.();
  await rest;
});

test('GB-074, GB-075: a long silence is a stream with comments, never made-up progress', async () => {
  rig.snapshot = snapshotOf({ limits: { keepAliveMs: 500 } });
  let release: (() => void) | undefined;
  rig.answer = () => new Promise((resolve) => (release = () => resolve(okAnswer('"content":[]'))));
  const { start, lines, body } = modernParts(CALL);
  const socket = openSocket(rig.port);
  let raw = '';
  socket.on('data', (chunk: Buffer) => {
    raw += chunk.toString();
    if (raw.split('\r\n:\n\n\r\n').length > 2) release?.();
  });
  socket.write(headOf(start, lines, body) + body);
  await new Promise((resolve) => socket.once('close', resolve));
  const reply = parseReply(raw);
  assert.equal(reply.headers.get('content-type'), 'text/event-stream');
  assert.equal(eventsOf(reply.body.replaceAll(':\n\n', '')).length, 1);
});

const TOOL_ROWS = [
  'unavailable',
  'busy',
  'start-failed',
  'upstream-denied',
  'timeout',
  'lost',
  'upstream-protocol',
  'result-too-large',
] as const;
for (const reason of TOOL_ROWS) {
  test(`GB-097: ${reason} is a tool result in tools/call and an error elsewhere`, async () => {
    rig.answer = async () => refusalAnswer({ reason, message: 'Server X is not well.' });
    const called = await sendModern(rig.port, CALL);
    assert.equal(called.status, 200);
    const { result } = JSON.parse(called.body) as {
      result: {
        resultType: string;
        isError: boolean;
        content: { type: string; text: string }[];
        _meta: Record<string, unknown>;
      };
    };
    assert.deepEqual([result.resultType, result.isError, result.content[0]?.type], ['complete', true, 'text']);
    assert.match(result.content[0]?.text ?? '', /^Server X is not well\. ./);
    assert.equal(result._meta['lockkeeper/reason'], reason);
    assert.equal(result._meta['lockkeeper/exchange'], called.headers.get('lockkeeper-exchange'));
    const listed = await sendModern(rig.port, { method: 'prompts/list' });
    const { error } = JSON.parse(listed.body) as { error: { code: number } };
    assert.ok(error.code >= 10000 || error.code === -32603, String(error.code));
  });
}

const RELAYED: readonly [number, string | undefined, number][] = [
  [-32602, '{"field":"x"}', -32602],
  [-32603, undefined, -32603],
  [1001, '[1,2.0]', 1001],
  [-32002, undefined, -32602],
  [-32042, undefined, -32603],
  [-32000, undefined, -32603],
  [-32050, undefined, -32603],
];
for (const [sent, data, seen] of RELAYED) {
  test(`GB-096: the server's error ${sent} reaches a modern client as ${seen} at 200`, async () => {
    rig.answer = async () =>
      refusalAnswer({ reason: 'upstream', code: sent, message: 'as said', ...(data ? { data } : {}) });
    const reply = await sendModern(rig.port, CALL);
    assert.equal(reply.status, 200);
    assert.ok(reply.body.includes(`"error":{"code":${seen},"message":"as said"`), reply.body);
    if (data !== undefined) assert.ok(reply.body.endsWith(`"data":${data}}}`));
  });
}

test('what can be tried again later says when', async () => {
  rig.answer = async () => refusalAnswer({ reason: 'busy', retryAfterMs: 2500 });
  const reply = await sendModern(rig.port, {});
  assert.deepEqual([reply.status, reply.headers.get('retry-after')], [503, '3']);
});

test('a fault of our own is an error with the id, and the process goes on', async () => {
  rig.answer = async () => {
    throw new Error('secret detail');
  };
  const reply = await sendModern(rig.port, {});
  assert.equal(reply.status, 500);
  assert.ok(!reply.body.includes('secret detail'));
  assert.equal((JSON.parse(reply.body) as { id: unknown }).id, 1);
  rig.answer = async () => okAnswer();
  assert.equal((await sendModern(rig.port, {})).status, 200);
});

test('GB-078: the same id twice at once, each connection gets its own answer', async () => {
  rig.answer = async (_e, ask) => {
    const turns = ask.name === 'slow' ? 20 : 0;
    for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
    return okAnswer(`"content":[{"type":"text","text":"${ask.name}"}]`);
  };
  const one = async (name: string) => {
    const reply = await sendModern(rig.port, { method: 'tools/call', params: { name }, headers: { 'Mcp-Name': name } });
    return (JSON.parse(reply.body) as { result: { content: { text: string }[] } }).result.content[0]?.text;
  };
  for (let i = 0; i < 25; i++) assert.deepEqual(await Promise.all([one('slow'), one('fast')]), ['slow', 'fast']);
});

for (const form of ['a pending JSON answer', 'an open stream'] as const) {
  test(`closing during ${form} aborts the exchange and nothing more is written`, async () => {
    let aborted = false;
    let began = false;
    rig.answer = (exchange, _ask, listener) =>
      new Promise((resolve) => {
        if (form === 'an open stream') listener.event(PROGRESS, bytes('"progress":1'));
        began = true;
        exchange.signal.addEventListener('abort', () => {
          aborted = true;
          listener.event(PROGRESS, bytes('"progress":2'));
          resolve(okAnswer());
        });
      });
    const { start, lines, body } = modernParts({ ...CALL, meta: { progressToken: 1 } });
    const socket = openSocket(rig.port);
    socket.write(headOf(start, lines, body) + body);
    await until(() => began);
    socket.destroy();
    await until(() => aborted);
    await until(() => rig.audit.length === 1);
    assert.equal(rig.audit[0]?.outcome, 'vanished');
    assert.deepEqual(rig.logged, []);
  });
}

test('a finished answer aborts nothing when the connection closes', async () => {
  let signal: { readonly aborted: boolean } | undefined;
  rig.answer = async (exchange) => {
    signal = exchange.signal;
    return okAnswer();
  };
  await sendModern(rig.port, {});
  await until(() => rig.audit.length === 1);
  assert.deepEqual([signal?.aborted, rig.audit[0]?.outcome], [false, 'ok']);
});
