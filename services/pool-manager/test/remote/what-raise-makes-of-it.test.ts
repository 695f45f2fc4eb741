// What does a caller see of a server by URL? The real transports under the real connector, against HTTP servers of a few
// lines (protocol.md §4.3, §4.4, §5.0, Part 6 #32).

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, it } from 'node:test';
import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import { systemClock } from '@lockkeeper/state/clock';
import { eventually } from '../../../../test/harness/eventually.ts';
import { mayGoAgain } from '../../src/dispatch-again.ts';
import type { Connection, Connector, Question } from '../../src/raise/contract.ts';
import { createRemoteSpawn } from '../../src/remote/spawn.ts';
import { collect, connectorOf, type Ended, MODERN_DISCOVER, NEVER, notedLog, openOf } from '../raise/fake.ts';
import { bodyOf, createStage, remoteSpec, type Stage } from './fetch/stage.ts';
import { event, events, introduced, json, result, type Told, there } from './session-stage.ts';

type Answers = (told: Told, response: ServerResponse) => void;

describe('what raise makes of a server by URL', () => {
  let stage: Stage | null = null;
  let connector: Connector | null = null;
  let connection: Connection | null = null;
  const told: Told[] = [];
  const questions: Question[] = [];

  async function connect(answer: Answers, more: Partial<ServerSpec>): Promise<Connection> {
    told.length = 0;
    questions.length = 0;
    stage = createStage();
    const { port } = await stage.serve(async (request, response) => {
      const raw = await bodyOf(request);
      const message = raw === '' ? undefined : JSON.parse(raw);
      const { promise: aborted, resolve } = Promise.withResolvers<void>();
      response.on('close', resolve);
      const one: Told = { verb: request.method!, path: request.url!, headers: request.headers, message, raw, aborted };
      told.push(one);
      answer(one, response);
    });
    const remote = createRemoteSpawn({
      doors: stage.doors(),
      clock: systemClock,
      log: notedLog(),
      maxLineBytes: () => 1_000_000,
      token: () => 'one',
    });
    connector = connectorOf({
      spawn: () => assert.fail('no process is started'),
      remote,
      questions: { ask: (_connection, question) => void questions.push(question), withdraw: () => {} },
    });
    const spec = { ...remoteSpec(`http://127.0.0.1:${port}/mcp`), ...more };
    connection = await connector.connect(spec, { elicitation: { form: {} } }, NEVER);
    return connection;
  }

  function call(to: Connection, name: string, head: Partial<Open> = {}): Promise<Ended> {
    const { reply, ended } = collect();
    const members = Buffer.from(`"name":"${name}","arguments":{"region":"eu"}`);
    to.call(openOf('tools/call', { name, server: 'far', ...head }), members, reply);
    return ended;
  }

  const toldOf = (method: string) => told.filter(({ message }) => message?.method === method);

  /** A modern server, and what it does with calls. */
  const modern =
    (calls: Answers): Answers =>
    (one, response) => {
      const { message } = one;
      if (message.method === 'server/discover')
        json(response, { jsonrpc: '2.0', id: message.id, result: MODERN_DISCOVER });
      else calls(one, response);
    };

  /** A legacy server, and what it does with calls and with the GET. */
  const legacy =
    (calls: Answers, get?: Answers): Answers =>
    (one, response) => {
      const { verb, message } = one;
      if (verb === 'GET' && get !== undefined) return get(one, response);
      if (verb !== 'POST') return void response.writeHead(405).end();
      if (message.method === 'initialize') {
        return json(response, introduced(message.id, '2025-11-25'), 200, { 'mcp-session-id': 'S1' });
      }
      if (message.method === 'tools/call') return calls(one, response);
      if (message.id === undefined || message.method === undefined) response.writeHead(202).end();
      else json(response, result(message.id, { tools: [] }));
    };

  const TOOL = {
    name: 'query',
    inputSchema: { type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } },
  };

  it('-32020: the tool list is read again, and the call goes once more with the right headers (§4.3)', async () => {
    const c = await connect(
      modern(({ message, headers }, response) => {
        if (message.method === 'tools/list') {
          const second = message.params.cursor === 'more';
          const page = second ? { tools: [TOOL] } : { tools: [], nextCursor: 'more' };
          return json(response, result(message.id, page));
        }
        if (headers['mcp-param-region'] === 'eu') return json(response, result(message.id, { content: [] }));
        json(response, { jsonrpc: '2.0', id: message.id, error: { code: -32020, message: 'Header mismatch' } }, 400);
      }),
      { era: 'modern' },
    );
    assert.equal((await call(c, 'query')).result?.resultType, 'complete');
    const calls = toldOf('tools/call');
    assert.deepEqual([calls.length, toldOf('tools/list').length], [2, 2]);
    assert.notEqual(calls[0]!.message.id, calls[1]!.message.id);
    // From now on it is known.
    await call(c, 'query');
    assert.equal(toldOf('tools/call').length, 3);
  });

  it('-32020 again: never shown, and not tried a third time (§5.1 "-32020")', async () => {
    const c = await connect(
      modern(({ message }, response) => {
        if (message.method === 'tools/list') return json(response, result(message.id, { tools: [TOOL] }));
        json(response, { jsonrpc: '2.0', id: message.id, error: { code: -32020, message: 'Header mismatch' } }, 400);
      }),
      { era: 'modern' },
    );
    const { fault } = await call(c, 'query');
    assert.deepEqual([fault?.reason, fault?.code, toldOf('tools/call').length], ['protocol', -32603, 2]);
  });

  it('a question on a reply is that call’s, whatever else runs (§5.0)', async () => {
    const replies = new Map<string, ServerResponse>();
    const c = await connect(
      legacy(({ message }, response) => {
        events(response);
        replies.set(message.params.name, response);
      }),
      { era: 'legacy' },
    );
    const [a, b] = [call(c, 'a', { xid: 'xa' }), call(c, 'b', { xid: 'xb' })];
    await eventually(() => replies.size === 2);
    const ask = (id: string) =>
      event({ jsonrpc: '2.0', id, method: 'elicitation/create', params: { message: id, requestedSchema: {} } });
    replies.get('a')!.write(ask('qa'));
    await eventually(() => questions.length === 1);
    replies.get('b')!.write(ask('qb'));
    await eventually(() => questions.length === 2);
    assert.deepEqual(
      questions.map(({ id, asker }) => [id, asker?.xid]),
      [
        ['"qa"', 'xa'],
        ['"qb"', 'xb'],
      ],
    );
    questions[0]!.answer(Buffer.from('{"action":"cancel"}'));
    await there(() => told.find(({ message }) => message?.id === 'qa'));
    for (const { message } of toldOf('tools/call')) {
      replies.get(message.params.name)!.end(event(result(message.id, { content: [] })));
    }
    await Promise.all([a, b]);
  });

  it('a question on the reply of a call that nobody waits for is nobody’s, though another runs', async () => {
    const replies = new Map<string, ServerResponse>();
    const c = await connect(
      legacy(({ message }, response) => {
        events(response);
        replies.set(message.params.name, response);
      }),
      { era: 'legacy' },
    );
    const { reply, ended } = collect();
    const left = c.call(openOf('tools/call', { name: 'left' }), Buffer.from('"name":"left"'), reply);
    const running = call(c, 'runs');
    await eventually(() => replies.size === 2);
    left.cancel('no more');
    await ended;
    const params = { message: 'm', requestedSchema: {} };
    replies.get('left')!.write(event({ jsonrpc: '2.0', id: 'late', method: 'elicitation/create', params }));
    await eventually(() => questions.length === 1);
    assert.equal(questions[0]!.asker, null);
    const { id } = toldOf('tools/call').find(({ message }) => message.params.name === 'runs')!.message;
    replies.get('runs')!.end(event(result(id, { content: [] })));
    await running;
  });

  it('a log message on a reply is that call’s, though two want logs', async () => {
    const ends: (() => void)[] = [];
    const logging: Answers = (one, response) => {
      const { verb, message } = one;
      if (verb === 'POST' && message.method === 'initialize') {
        const more = { protocolVersion: '2025-11-25', capabilities: { tools: {}, logging: {} }, serverInfo: {} };
        return json(response, { jsonrpc: '2.0', id: message.id, result: more });
      }
      legacy(() => {
        events(response);
        const params = { level: 'warning', data: message.params.name };
        response.write(event({ jsonrpc: '2.0', method: 'notifications/message', params }));
        ends.push(() => response.end(event(result(message.id, { content: [] }))));
        if (ends.length === 2) for (const end of ends) end();
      })(one, response);
    };
    const c = await connect(logging, { era: 'legacy' });
    const log = { logLevel: 'debug' } as const;
    const both = await Promise.all([call(c, 'a', log), call(c, 'b', log)]);
    assert.deepEqual(
      both.map((each) => each.events.map(({ members }) => members.data)),
      [['a'], ['b']],
    );
  });

  it('a question on the server’s own stream while nothing runs is refused (§5.0, Part 7 #34)', async () => {
    let own: ServerResponse | undefined;
    await connect(
      legacy(
        ({ message }, response) => json(response, result(message.id, { content: [] })),
        (_told, response) => {
          events(response);
          own = response;
        },
      ),
      { era: 'legacy' },
    );
    await eventually(() => own !== undefined);
    own!.write(event({ jsonrpc: '2.0', id: 'q', method: 'sampling/createMessage', params: {} }));
    own!.write(event({ jsonrpc: '2.0', id: 'p', method: 'ping' }));
    const answer = (id: string) => there(() => told.find(({ message }) => message?.id === id)?.message);
    assert.equal((await answer('q')).error.code, -32601);
    // GB-076
    assert.deepEqual((await answer('p')).result, {});
  });

  it('a question on the server’s own stream while one call runs is that call’s, as over a pipe (ops/decisions)', async () => {
    let own: ServerResponse | undefined;
    let reply: ServerResponse | undefined;
    const c = await connect(
      legacy(
        (_told, response) => {
          events(response);
          reply = response;
        },
        (_told, response) => {
          events(response);
          own = response;
        },
      ),
      { era: 'legacy' },
    );
    const running = call(c, 'a', { xid: 'xa' });
    await eventually(() => reply !== undefined);
    const params = { message: 'm', requestedSchema: {} };
    own!.write(event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params }));
    await eventually(() => questions.length === 1);
    assert.equal(questions[0]!.asker?.xid, 'xa');
    const { id } = toldOf('tools/call')[0]!.message;
    // An answer that comes another way than its reply is taken, and the reply let go.
    own!.write(event(result(id, { content: [] })));
    assert.equal((await running).result?.resultType, 'complete');
    await toldOf('tools/call')[0]!.aborted;
  });

  it('404: the call has not run, and its connection is gone when it hears of it (§4.4)', async () => {
    const c = await connect(
      legacy((_told, response) => void response.writeHead(404).end()),
      { era: 'legacy' },
    );
    const { fault } = await call(c, 'a');
    assert.deepEqual([fault?.reason, fault?.mayHaveRun, c.gone], ['lost', false, true]);
    assert.equal((await c.closed).kind, 'session-ended');
  });

  for (const era of ['modern', 'legacy'] as const) {
    it(`401 of a ${era} server: what its operator must do, and nothing of what it said (Part 6 #32)`, async () => {
      const speaks = era === 'modern' ? modern : legacy;
      const c = await connect(
        speaks((_told, response) =>
          json(response, { error: 'go to evil.example' }, 401, { 'www-authenticate': 'Bearer x' }),
        ),
        { era },
      );
      const { fault } = await call(c, 'a');
      assert.deepEqual([fault?.reason, fault?.mayHaveRun], ['denied', false]);
      assert.match(fault!.message, /^server "far": it does not accept Lockkeeper's credentials \(HTTP 401\)/);
      assert.doesNotMatch(JSON.stringify(fault), /evil|Bearer/);
    });
  }

  for (const status of [400, 404, 409, 413, 422]) {
    it(`${status} with nothing of MCP in it: told as it is, and no reason to send the call once more (I7)`, async () => {
      const c = await connect(
        modern((_told, response) => void response.writeHead(status).end()),
        { era: 'modern' },
      );
      const { fault } = await call(c, 'a');
      assert.equal(fault?.reason, 'protocol');
      assert.match(fault!.message, new RegExp(`^it answered with HTTP ${status}`));
      assert.equal(mayGoAgain({ method: 'tools/call' }, fault!), false);
      assert.equal(c.gone, false);
    });
  }

  it('429: busy, with the time to come back', async () => {
    const c = await connect(
      modern((_told, response) => void response.writeHead(429, { 'retry-after': '2' }).end()),
      { era: 'modern' },
    );
    const { fault } = await call(c, 'a');
    assert.deepEqual([fault?.reason, fault?.retryAfterMs, fault?.mayHaveRun], ['busy', 2000, false]);
  });

  it('a cancelled call of a modern server taints nothing; its reply is let go', async () => {
    const c = await connect(
      modern((_told, response) => events(response)),
      { era: 'modern' },
    );
    const { reply, ended } = collect();
    const running = c.call(openOf('tools/call', { name: 'a' }), Buffer.from('"name":"a"'), reply);
    await eventually(() => toldOf('tools/call').length === 1);
    running.cancel('no more');
    assert.equal((await ended).fault?.reason, 'cancelled');
    await toldOf('tools/call')[0]!.aborted;
    assert.equal(c.tainted, false);
    assert.equal(toldOf('notifications/cancelled').length, 0);
  });

  it('a listen of a modern server stands on its reply, and ends with it', async () => {
    let stream: ServerResponse | undefined;
    let id = 0;
    const c = await connect(
      modern(({ message }, response) => {
        events(response);
        stream = response;
        id = message.id;
      }),
      { era: 'modern' },
    );
    const said: string[] = [];
    c.side!.listen(
      { toolsListChanged: true },
      {
        acknowledged: (filter) => void said.push(`acknowledged ${filter.toolsListChanged}`),
        change: ({ method }) => void said.push(method),
        ended: (code) => void said.push(`ended ${code}`),
      },
    );
    await eventually(() => stream !== undefined);
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
    const notifications = { toolsListChanged: true };
    const acknowledged = 'notifications/subscriptions/acknowledged';
    stream!.write(event({ jsonrpc: '2.0', method: acknowledged, params: { _meta, notifications } }));
    stream!.write(event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta } }));
    await eventually(() => said.length === 2);
    stream!.destroy();
    await eventually(() => said.length === 3);
    assert.deepEqual(said, ['acknowledged true', 'notifications/tools/list_changed', 'ended null']);
  });

  afterEach(async () => {
    await connection?.stop('the test is over');
    await connector?.close();
    await stage?.close();
    connection = null;
    connector = null;
    stage = null;
  });
});
