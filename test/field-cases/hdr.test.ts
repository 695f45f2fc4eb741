// Field cases of class HDR: are headers held against the body, and does none of a client's cross to a server? Servers are
// stdio here, where headers do not exist: what is left of a header case is that the call works and nothing leaks.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { sendRaw } from '../harness/raw.ts';
import { asker, call, ERAS, type Json, legacyAsker, modernAsker, seenBy, server, textOf } from './stage.ts';

const string = (header: string) => ({ type: 'string', 'x-mcp-header': header });
const schema = (properties: Json) => ({ type: 'object', properties });
const ANNOTATED = JSON.stringify({
  tools: [
    {
      name: 'q',
      inputSchema: schema({
        region: string('Region'),
        n: { type: 'integer', 'x-mcp-header': 'N' },
        dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
        opt: string('Opt'),
      }),
    },
    { name: 'danger', inputSchema: schema({}) },
    { name: 'safe', inputSchema: schema({}) },
    { name: 'seen', inputSchema: schema({}) },
  ],
});
const CATALOGUE = JSON.stringify({
  capabilities: { prompts: {}, resources: {}, completions: {} },
  tools: [
    { name: 'echo', inputSchema: schema({}) },
    { name: 'seen', inputSchema: schema({}) },
  ],
  prompts: [{ name: 'greet' }],
  resources: [{ uri: 'file:///docs/übersicht.md', name: 'overview' }],
  resourceTemplates: [{ uriTemplate: 'db://{table}', name: 'tables' }],
});

let lockkeeper: Lockkeeper;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);
const encoded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

before(async () => {
  lockkeeper = await startStandalone({
    servers: [
      server('old', 'says-anything', { env: { LISTS: CATALOGUE } }),
      server('new', 'says-anything', { env: { LISTS: CATALOGUE, ERA: 'modern' } }),
      server('annotated', 'says-anything', { env: { LISTS: ANNOTATED, ERA: 'modern' } }),
    ],
    routes: [
      ...['old', 'new', 'annotated'].map((name) => ({ path: `/acme/${name}/mcp`, tenant: 'acme', server: name })),
      { path: '/acme/new-only/mcp', tenant: 'acme', server: 'old', revisions: [] },
      { path: '/acme/mcp', tenant: 'acme', servers: ['old', 'new', 'annotated'] },
    ],
  });
});
after(() => lockkeeper?.stop());

describe('GB-046: transport headers of a client', () => {
  for (const name of ['old', 'new']) {
    for (const era of ERAS) {
      it(`stay with the gateway: ${era} client, ${name} server`, async () => {
        const ask = await asker(era, at(name));
        const headers = {
          'last-event-id': 'zzz-5',
          'x-request-id': 'zzz-6',
          'mcp-param-zzz': 'zzz-7',
          ...(era === 'modern' && { 'mcp-session-id': 'zzz-8' }),
          ...(era === 'legacy' && { 'mcp-method': 'zzz-9', 'mcp-name': 'zzz-10' }),
        };
        const { status, headers: back } = await call(ask, 'echo', { era }, { headers });
        assert.equal(status, 200);
        if (era === 'modern') assert.equal(back.get('mcp-session-id'), undefined);
        const seen = await seenBy(ask);
        assert.doesNotMatch(JSON.stringify(seen), /zzz/);
        for (const { method, params } of seen) {
          if (method !== 'tools/call') continue;
          const meta = ((params as Json)._meta ?? {}) as Json;
          const version = meta['io.modelcontextprotocol/protocolVersion'];
          assert.equal(version, name === 'new' ? '2026-07-28' : undefined);
        }
      });
    }
  }
});

describe('GB-047: an encoded Mcp-Name', () => {
  const uri = 'file:///docs/übersicht.md';
  const read = (name: string) => modernAsker(at('old'))('resources/read', { uri }, { headers: { 'mcp-name': name } });
  const echo = (name: string) => call(modernAsker(at('old')), 'echo', {}, { headers: { 'mcp-name': name } });

  it('is decoded before it is compared', async () => {
    assert.match(
      JSON.stringify((await read('=?base64?ZmlsZTovLy9kb2NzL8O8YmVyc2ljaHQubWQ=?=')).result?.contents),
      /übersicht\.md of/,
    );
    assert.equal((await echo(encoded('echo'))).status, 200);
  });

  for (const [what, name] of [
    ['no base64', '=?base64?!!!?='],
    ['an upper-case marker', '=?BASE64?ZWNobw==?='],
    ['bytes that are not UTF-8', `=?base64?${Buffer.from([0xff, 0xfe]).toString('base64')}?=`],
  ] as const) {
    it(`is -32020 with ${what}`, async () => {
      const { status, error } = await echo(name);
      assert.deepEqual([status, error?.code], [400, -32020]);
    });
  }
});

describe('GB-048: values that a header cannot carry as they are', () => {
  const values = ['=?base64?literal?=', ' padded ', '', 'a\tb', 'line1\nline2', 'é'];
  const others = { n: 1, dry: false };
  const own = { 'mcp-param-n': '1', 'mcp-param-dry': 'false' };

  for (const value of values) {
    it(`${JSON.stringify(value)} reaches the server from clients of both eras, encoded by the modern one`, async () => {
      const args = { region: value, ...others };
      const expected = { name: 'q', arguments: args };
      const headers = { ...own, 'mcp-param-region': encoded(value) };
      const modern = await call(modernAsker(at('annotated')), 'q', args, { headers });
      assert.deepEqual(JSON.parse(textOf(modern)), expected);
      const legacy = await call(await legacyAsker(at('annotated')), 'q', args);
      assert.deepEqual(JSON.parse(textOf(legacy)), expected);
    });
  }

  it('a literal that looks encoded and is not is a mismatch', async () => {
    const headers = { ...own, 'mcp-param-region': '=?base64?literal?=' };
    const { status, error } = await call(
      modernAsker(at('annotated')),
      'q',
      { region: '=?base64?literal?=', ...others },
      { headers },
    );
    assert.deepEqual([status, error?.code], [400, -32020]);
  });
});

describe('GB-049: names of an aggregate', () => {
  for (const name of ['old', 'new']) {
    it(`come to the ${name} server as its own, and its answers back unchanged`, async () => {
      const ask = modernAsker(lockkeeper.route('/acme/mcp'));
      assert.equal(textOf(await call(ask, `${name}__echo`, { a: 1 })), '{"name":"echo","arguments":{"a":1}}');
      const prompt = await ask('prompts/get', { name: `${name}__greet`, arguments: { who: 'you' } });
      assert.match(JSON.stringify(prompt.result?.messages), /greet/);
      const uri = `file:///docs/übersicht.md#lk.${name}`;
      const read = await ask('resources/read', { uri }, { headers: { 'mcp-name': encoded(uri) } });
      assert.equal((read.result!.contents as { uri: string }[])[0]!.uri, uri);
      for (const [ref, value] of [
        [{ type: 'ref/prompt', name: `${name}__greet` }, 'greet'],
        [{ type: 'ref/resource', uri: `db://{table}#lk.${name}` }, 'db://{table}'],
      ] as const) {
        const { result } = await ask('completion/complete', { ref, argument: { name: 'x', value: 'y' } });
        assert.deepEqual((result!.completion as { values: string[] }).values, [value]);
      }
      const seen = JSON.parse(textOf(await call(ask, `${name}__seen`))) as string[];
      assert.ok(!seen.some((line) => line.includes(`${name}__`) || line.includes('#lk.')), seen.join('\n'));
    });
  }
});

describe('GB-051: an annotated tool of a modern server', () => {
  const args = { region: 'eu', n: 42, dry: true, opt: null };

  it('works for a legacy caller, which knows of no such headers', async () => {
    const answer = await call(await legacyAsker(at('annotated')), 'q', args);
    assert.deepEqual(JSON.parse(textOf(answer)), { name: 'q', arguments: args });
  });

  it('works for a modern caller that sends them, and through an aggregate', async () => {
    const headers = { 'mcp-param-region': 'eu', 'mcp-param-n': '42', 'mcp-param-dry': 'true' };
    for (const [url, name] of [
      [at('annotated'), 'q'],
      [lockkeeper.route('/acme/mcp'), 'annotated__q'],
    ] as const) {
      assert.deepEqual(JSON.parse(textOf(await call(modernAsker(url), name, args, { headers }))), {
        name: 'q',
        arguments: args,
      });
    }
  });
});

describe('GB-052: headers that differ from the body', () => {
  const right = { 'mcp-param-region': 'eu', 'mcp-param-n': '42' };
  const args = { region: 'eu', n: 42 };
  const sent = async (name: string, given: Json, headers: Readonly<Record<string, string | undefined>>) => {
    const ask = modernAsker(at('annotated'));
    const calls = async () => (await seenBy(ask)).filter(({ method }) => method === 'tools/call').length;
    const before = await calls();
    const answer = await call(ask, name, given, { headers });
    // The look itself is one call.
    return { ...answer, executed: (await calls()) - before - 1 };
  };

  for (const [what, name, given, headers] of [
    ['(a) another Mcp-Name', 'danger', {}, { 'mcp-name': 'safe' }],
    ['(b) another Mcp-Param', 'q', { ...args, region: 'us' }, right],
    ['(c) a missing Mcp-Param', 'q', args, { 'mcp-param-n': '42' }],
    ['(d) a Mcp-Param for null', 'q', { ...args, region: null }, right],
    ['(f) two Mcp-Names', 'q', args, { ...right, 'Mcp-Name': 'q' }],
  ] as const) {
    it(`${what}: 400 with -32020 and nothing is executed`, async () => {
      const { status, error, executed } = await sent(name, given, headers);
      assert.deepEqual([status, error?.code, executed], [400, -32020, 0]);
    });
  }

  for (const [what, headers] of [
    ['(e) another spelling of a number', { ...right, 'mcp-param-n': '42.0' }],
    ['(g) names in odd case', { 'MCP-Param-REGION': 'eu', 'mCP-pARAM-n': '42' }],
    ['(h) an unknown Mcp-Param', { ...right, 'mcp-param-zzz': 'z' }],
  ] as const) {
    it(`${what}: executed once`, async () => {
      const { status, executed, result } = await sent('q', args, headers);
      assert.deepEqual([status, result?.isError, executed], [200, undefined, 1]);
    });
  }
});

describe('GB-054: odd traffic on the endpoint', () => {
  it('an unknown method is 404 with -32601', async () => {
    const { status, error } = await modernAsker(at('old'))('foo/bar');
    assert.deepEqual([status, error?.code], [404, -32601]);
  });

  it('a modern body without its version header is 400 with -32020', async () => {
    const { status, error } = await modernAsker(at('old'))(
      'tools/list',
      {},
      { headers: { 'mcp-protocol-version': undefined } },
    );
    assert.deepEqual([status, error?.code], [400, -32020]);
  });

  for (const [name, method] of [
    ['old', 'GET'],
    ['old', 'OPTIONS'],
    ['old', 'PATCH'],
    ['new-only', 'GET'],
    ['new-only', 'DELETE'],
  ] as const) {
    it(`${method} without a session on ${name} is 405 and names what is allowed`, async () => {
      const response = await sendRaw(at(name), { method, headers: { accept: 'text/event-stream' } });
      response.destroy();
      assert.equal(response.status, 405);
      assert.match(response.headers.get('allow') ?? '', /POST/);
    });
  }

  it('DELETE without a session where sessions exist is 400 with a body that says so', async () => {
    const response = await sendRaw(at('old'), { method: 'DELETE' });
    const { error } = (await response.json()) as { error: { message: string } };
    response.destroy();
    assert.equal(response.status, 400);
    assert.match(error.message, /Mcp-Session-Id/);
  });

  it('a session id and an event id on a modern request are ignored, and no session is made', async () => {
    const headers = { 'mcp-session-id': 'zzz', 'last-event-id': '3' };
    const { status, headers: back } = await modernAsker(at('old'))('tools/list', {}, { headers });
    assert.equal(status, 200);
    assert.ok(!back.has('mcp-session-id'));
  });
});
