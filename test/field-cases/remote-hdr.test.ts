// Field cases of class HDR with remote servers: are the headers of each hop built for that hop, from what is sent there?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Seen } from '../servers/http/raw-upstream.ts';
import { openRemoteStage, type RemoteStage } from './remote-stage.ts';
import { asker, assertCalm, call, ERAS, type Json, legacyAsker, modernAsker, namesOf, textOf } from './stage.ts';

const annotated = (properties: Json) => ({ name: 'q', inputSchema: { type: 'object', properties } });
const header = (type: string, name: string) => ({ type, 'x-mcp-header': name });
const Q = annotated({
  region: header('string', 'Region'),
  n: header('integer', 'N'),
  dry: header('boolean', 'Dry'),
  opt: header('string', 'Opt'),
});
const URI = 'file:///docs/übersicht.md';
const encoded = (value: string) => `=?base64?${Buffer.from(value).toString('base64')}?=`;

const LISTS = {
  'resources/list': () => ({ resources: [{ uri: URI, name: 'ü' }] }),
  'resources/read': ({ uri }: Json) => ({ contents: [{ uri, text: 'read' }] }),
  'prompts/list': () => ({ prompts: [{ name: 'greet' }] }),
  'prompts/get': ({ name }: Json) => ({ messages: [{ role: 'user', content: { type: 'text', text: String(name) } }] }),
};
const CAPABILITIES = { tools: {}, resources: {}, prompts: {} };

let stage: RemoteStage<'strict' | 'new' | 'a' | 'moving' | 'bad'>;
before(async () => {
  stage = await openRemoteStage({
    strict: { kind: 'legacy', revision: '2025-06-18' },
    new: { kind: 'modern', tools: [Q, { name: 'echo', inputSchema: { type: 'object' } }] },
    a: { kind: 'modern', methods: LISTS, capabilities: CAPABILITIES },
    moving: { kind: 'modern', tools: [annotated({ region: { type: 'string' } })] },
    bad: {
      kind: 'modern',
      tools: [
        annotated({ region: header('string', 'Region') }),
        {
          name: 'twice',
          inputSchema: { type: 'object', properties: { a: header('string', 'R'), b: header('string', 'r') } },
        },
        { name: 'spaced', inputSchema: { type: 'object', properties: { a: header('string', 'My Region') } } },
      ],
    },
  });
});
after(async () => {
  await stage?.stop();
});

const last = (name: 'strict' | 'new' | 'a' | 'moving', method = 'tools/call') => stage.up[name].of(method).at(-1)!;
const paramHeaders = ({ headers }: Seen) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('mcp-param-')));

describe('GB-046: transport headers of a client', () => {
  const theirs = { 'mcp-session-id': 'zzz', 'last-event-id': '5', connection: 'close' };

  it('do not reach a strict legacy server, which sees its own revision and its own session', async () => {
    const { strict } = stage.up;
    const ask = modernAsker(stage.at('strict'));
    assert.match(textOf(await call(ask, 'echo', { n: 1 }, { headers: theirs })), /"n":1/);
    for (const { headers, message } of strict.seen) {
      if (message?.method === 'server/discover' || message?.method === 'initialize') continue;
      assert.equal(headers['mcp-protocol-version'], '2025-06-18');
      assert.ok(strict.sessions.has(headers['mcp-session-id']!));
      assert.equal(headers['mcp-method'], undefined);
      assert.equal(headers['last-event-id'], undefined);
      assert.match(headers.host!, new RegExp(`:${strict.port}$`));
    }
  });

  it('do not reach a strict modern server: its version is that of the body', async () => {
    for (const era of ERAS) {
      const ask = await asker(era, stage.at('new'));
      assert.match(textOf(await call(ask, 'echo', { n: 1 }, era === 'modern' ? { headers: theirs } : {})), /"n":1/);
      const { headers, message } = last('new');
      const meta = message?.params?._meta as Json;
      assert.equal(headers['mcp-protocol-version'], '2026-07-28');
      assert.equal(meta['io.modelcontextprotocol/protocolVersion'], '2026-07-28');
      for (const name of ['mcp-session-id', 'last-event-id']) assert.equal(headers[name], undefined, name);
    }
  });
});

describe('GB-047, GB-049: names', () => {
  for (const era of ERAS) {
    it(`GB-049: of an aggregate come to the server as its own, in header and body, from a ${era} client`, async () => {
      const ask = await asker(era, stage.aggregate);
      await call(ask, 'a__echo', { n: 1 });
      const called = last('a');
      assert.deepEqual([called.headers['mcp-name'], called.message?.params?.name], ['echo', 'echo']);
      await ask('prompts/get', { name: 'a__greet' });
      const got = last('a', 'prompts/get');
      assert.deepEqual([got.headers['mcp-name'], got.message?.params?.name], ['greet', 'greet']);
    });

    it(`GB-047: that are no ASCII go out encoded, from a ${era} client`, async () => {
      const ask = await asker(era, stage.at('a'));
      const { result } = await ask(
        'resources/read',
        { uri: URI },
        era === 'modern' ? { headers: { 'mcp-name': encoded(URI) } } : {},
      );
      assert.match(JSON.stringify(result?.contents), /"read"/);
      const read = last('a', 'resources/read');
      assert.deepEqual([read.headers['mcp-name'], read.message?.params?.uri], [encoded(URI), URI]);
    });
  }
});

describe('GB-048: values that a header cannot carry as they are', () => {
  for (const value of ['=?base64?literal?=', ' padded ', '', 'a\tb', 'line1\nline2', 'é', 'us west 1']) {
    it(`${JSON.stringify(value)} goes to the server so that it reads what the body says`, async () => {
      const args = { region: value, n: 1, dry: false };
      const plain = PLAIN.includes(value);
      const expected = { 'mcp-param-region': plain ? value : encoded(value), ...NUMBERS };
      await call(await legacyAsker(stage.at('new')), 'q', args);
      assert.deepEqual(paramHeaders(last('new')), expected);
      await call(modernAsker(stage.at('new')), 'q', args, {
        headers: { ...NUMBERS, 'mcp-param-region': encoded(value) },
      });
      assert.deepEqual(paramHeaders(last('new')), expected);
      assert.deepEqual(last('new').message?.params?.arguments, args);
    });
  }
  /** Blanks and tabs inside are what HTTP carries; an empty value is said so (protocol.md Part 7 #22). */
  const PLAIN: readonly string[] = ['a\tb', 'us west 1'];
  const NUMBERS = { 'mcp-param-n': '1', 'mcp-param-dry': 'false' };
});

describe('GB-051: an annotated tool of a modern server', () => {
  it('gets its headers from the schema, for a caller that sends none', async () => {
    await call(await legacyAsker(stage.at('new')), 'q', { region: 'eu', n: 42, dry: true, opt: null });
    assert.deepEqual(paramHeaders(last('new')), {
      'mcp-param-region': 'eu',
      'mcp-param-n': '42',
      'mcp-param-dry': 'true',
    });
  });

  for (const era of ERAS) {
    it(`whose schema has changed is listed anew once and called again, for a ${era} client`, async () => {
      const { moving } = stage.up;
      moving.behave();
      const ask = await asker(era, stage.at('moving'));
      assert.match(textOf(await call(ask, 'q', { region: 'eu' })), /"region":"eu"/);
      const [calls, lists] = [moving.of('tools/call').length, moving.of('tools/list').length];
      moving.when('tools/list', (reply, { message }) => {
        const result = {
          resultType: 'complete',
          ttlMs: 0,
          cacheScope: 'private',
          tools: [annotated({ region: header('string', 'Region') })],
        };
        reply.json({ jsonrpc: '2.0', id: message?.id, result });
      });
      moving.when('tools/call', (reply, seen) => {
        const { message, headers } = seen;
        if (headers['mcp-param-region'] !== 'eu') {
          const error = { code: -32020, message: 'Header mismatch: Mcp-Param-Region is missing' };
          return reply.json({ jsonrpc: '2.0', id: message?.id, error }, 400);
        }
        const result = { resultType: 'complete', content: [{ type: 'text', text: 'with its header' }] };
        return reply.json({ jsonrpc: '2.0', id: message?.id, result });
      });
      assert.equal(textOf(await call(ask, 'q', { region: 'eu' })), 'with its header');
      assert.equal(moving.of('tools/call').length, calls + 2);
      assert.ok(moving.of('tools/list').length > lists);
      const [first, second] = moving.of('tools/call').slice(-2);
      assert.notEqual(first!.message?.id, second!.message?.id);
      moving.behave();
      // Back to the old schema: what the server lists is asked for before the next caller is held against it.
      await ask('tools/list');
    });
  }

  it('that goes on refusing its headers is called twice and no more', async () => {
    const { moving } = stage.up;
    const calls = moving.of('tools/call').length;
    moving.when('tools/call', (reply, { message }) =>
      reply.json({ jsonrpc: '2.0', id: message?.id, error: { code: -32020, message: 'never right' } }, 400),
    );
    const { result, error } = await call(await legacyAsker(stage.at('moving')), 'q', { region: 'eu' });
    assert.ok(error !== undefined || result?.isError === true);
    assert.notEqual(error?.code, -32020, 'it is Lockkeeper’s header, not the caller’s');
    assert.equal(moving.of('tools/call').length, calls + 2);
    moving.behave();
  });

  it('whose annotations are wrong is not listed, the others are', async () => {
    for (const era of ERAS) {
      assert.deepEqual(namesOf(await (await asker(era, stage.at('bad')))('tools/list')), ['q']);
    }
  });
});

it('leaves no trace of the unexpected in the log', () => assertCalm(stage.lockkeeper));
