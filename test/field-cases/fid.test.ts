// Field cases of class FID: does everything a server says arrive as it was said, and everything a client says that is not
// the gateway's own?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { modernRequest } from '../harness/messages.ts';
import { sendRaw } from '../harness/raw.ts';
import {
  type Answered,
  asker,
  call,
  ERAS,
  type Json,
  legacyAsker,
  modernAsker,
  namesOf,
  seenBy,
  server,
} from './stage.ts';

const TOOL = {
  name: 'rich',
  title: 'Rich',
  icons: [{ src: 'data:image/png;base64,AA==' }, { src: 'https://x.example/i.png', sizes: ['48x48'] }],
  annotations: { readOnlyHint: true, 'x-vendor': 1 },
  inputSchema: { type: 'object', properties: {} },
  outputSchema: { type: 'object', $defs: { a: { type: 'string' } }, properties: { a: { $ref: '#/$defs/a' } } },
  _meta: { 'com.example/cost': 3 },
  execution: { taskSupport: 'forbidden' },
  unknownFuture: { a: 1, b: [null, 1.0] },
};
const PROMPT = {
  name: 'p',
  title: 'P',
  arguments: [{ name: 'a', required: true, future: 1 }],
  _meta: { 'com.example/p': 1 },
};
const RESOURCE = {
  uri: 'config://app',
  name: 'app',
  size: 12345678901,
  mimeType: 'text/plain',
  annotations: { lastModified: '2026-01-01T00:00:00Z', priority: 0.5 },
};
const APP = {
  name: 'app',
  inputSchema: { type: 'object', properties: {} },
  _meta: { ui: { resourceUri: 'ui://w/1.html' } },
};
const LISTS = JSON.stringify({
  capabilities: { prompts: {}, resources: {}, completions: {} },
  tools: [TOOL, APP, ...['say', 'seen'].map((name) => ({ name, inputSchema: { type: 'object', properties: {} } }))],
  prompts: [PROMPT],
  resources: [RESOURCE, { uri: 'ui://w/1.html', name: 'w' }],
  resourceTemplates: [{ uriTemplate: 'db://{t}', name: 'tables' }],
});

let lockkeeper: Lockkeeper;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);
const aggregate = () => lockkeeper.route('/acme/mcp');
const sans = ({ result, message }: Answered, ...keys: string[]) => {
  assert.ok(result !== undefined, JSON.stringify(message));
  return Object.fromEntries(Object.entries(result).filter(([key]) => !keys.includes(key)));
};
const say = (ask: Parameters<typeof call>[0], result: Json) => call(ask, 'say', { result: JSON.stringify(result) });

before(async () => {
  lockkeeper = await startStandalone({
    servers: [
      server('a', 'says-anything', { env: { LISTS, NAME: 'a' } }),
      server('b', 'says-anything', { env: { LISTS, NAME: 'b', ERA: 'modern' } }),
      server('exact', 'returns-errors', {}),
    ],
    limits: { listTtlMs: 0 },
  });
});
after(() => lockkeeper?.stop());

describe('GB-089, GB-090: members of a result', () => {
  const odd = { structuredContent: [1, { a: null }, 'x'], _meta: { 'com.example/k': { n: 1 } }, vendorField: true };
  const failed = {
    content: [],
    structuredContent: { code: 'RATE_LIMITED', retry_after: 30 },
    isError: true,
    _meta: { 'com.example/trace': 't1' },
  };

  it('GB-089: arrive all, known or not; structuredContent that is no object at modern clients only', async () => {
    const given = { content: [{ type: 'text', text: '6 items' }], ...odd };
    const { _meta, ...rest } = sans(
      await say(modernAsker(at('b')), { ...given, resultType: 'complete' }),
      'resultType',
    );
    assert.deepEqual(rest, { content: given.content, structuredContent: odd.structuredContent, vendorField: true });
    assert.deepEqual((_meta as Json)['com.example/k'], { n: 1 });
    const legacy = sans(await say(await legacyAsker(at('b')), { ...given, resultType: 'complete' }));
    assert.ok(!Array.isArray(legacy.structuredContent));
    assert.deepEqual([legacy.vendorField, (legacy._meta as Json)['com.example/k']], [true, { n: 1 }]);
    // Of a legacy server, and an object: the same for both.
    const plain = { ...given, structuredContent: { a: null } };
    for (const era of ERAS) {
      const { structuredContent, vendorField } = sans(await say(await asker(era, at('a')), plain));
      assert.deepEqual([structuredContent, vendorField], [{ a: null }, true]);
    }
  });

  for (const era of ERAS) {
    it(`GB-090: of a failed call arrive at a ${era} client as they are, with 200`, async () => {
      const answer = await say(await asker(era, at('a')), failed);
      assert.equal(answer.status, 200);
      const { _meta, ...rest } = sans(answer, 'resultType');
      const { _meta: given, ...expected } = failed;
      assert.deepEqual(rest, expected);
      assert.equal((_meta as Json)['com.example/trace'], given['com.example/trace']);
    });
  }

  it('are the bytes that were written: numbers, key order and escapes', async () => {
    const wish = { method: 'tools/call', params: { name: 'exact', arguments: {} } };
    const response = await sendRaw(at('exact'), modernRequest(wish));
    const text = await response.text();
    response.destroy();
    assert.ok(text.includes('"z":1.0,"a":12345678901234567890,"10":"ten","2":"two","u":"\\u00e9\\/"'), text);
  });
});

describe('GB-091: list items', () => {
  it('are deep-equal at a modern client, first, cached and in the same order, from servers of both eras', async () => {
    for (const name of ['a', 'b']) {
      const ask = modernAsker(at(name));
      const [first, second] = [await ask('tools/list'), await ask('tools/list')];
      assert.deepEqual(first.result?.tools, second.result?.tools);
      // Tasks of 2025-11-25 are no part of the modern revision (protocol.md §1.6).
      const { execution: _, ...expected } = TOOL;
      const { execution: __, ...shown } = (first.result!.tools as Json[])[0]!;
      assert.deepEqual(shown, expected);
      assert.deepEqual((await ask('prompts/list')).result?.prompts, [PROMPT]);
      assert.deepEqual((await ask('resources/list')).result!.resources, [
        RESOURCE,
        { uri: 'ui://w/1.html', name: 'w' },
      ]);
    }
  });

  it('are deep-equal at a client of 2025-11-25', async () => {
    const ask = await legacyAsker(at('a'));
    const { execution: _, ...shown } = ((await ask('tools/list')).result!.tools as Json[])[0]!;
    const { execution: __, ...expected } = TOOL;
    assert.deepEqual(shown, expected);
    assert.deepEqual((await ask('resources/list')).result?.resources, [RESOURCE, { uri: 'ui://w/1.html', name: 'w' }]);
  });

  it('differ on an aggregate in names and URIs only', async () => {
    const tools = (await modernAsker(aggregate())('tools/list')).result!.tools as Json[];
    const { execution: _, name: __, ...expected } = TOOL;
    for (const alias of ['a__rich', 'b__rich']) {
      const { name, execution: ___, ...shown } = tools.find((tool) => tool.name === alias)!;
      assert.equal(name, alias);
      assert.deepEqual(shown, expected);
    }
  });
});

describe('GB-092: content', () => {
  const content = [
    { type: 'text', text: '', annotations: { audience: ['user'], priority: 1 } },
    { type: 'image', data: 'AA=='.repeat(300_000), mimeType: 'image/png', _meta: { 'com.example/i': 1 } },
    { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'x://t', text: 'T', mimeType: 'text/plain' } },
    { type: 'resource', resource: { uri: 'x://b', blob: 'AA==' } },
    { type: 'resource_link', uri: 'x://l', name: 'l', title: 'L', size: 3, annotations: { priority: 0 } },
    { type: 'hologram', x: 1 },
  ];

  for (const era of ERAS) {
    it(`of every kind arrives at a ${era} client in order and whole`, async () => {
      const { result } = await say(await asker(era, at('a')), { content });
      assert.deepEqual(result?.content, content);
    });
  }

  it('keeps all but its URIs on an aggregate', async () => {
    const { result } = await call(modernAsker(aggregate()), 'a__say', { result: JSON.stringify({ content }) });
    const plain = JSON.stringify(result?.content).replaceAll('#lk.a', '');
    assert.equal(plain, JSON.stringify(content));
  });
});

describe('GB-093: URIs that an aggregate hands out', () => {
  for (const name of ['a', 'b']) {
    it(`can be read, keep their scheme, and mean the ${name} server its own`, async () => {
      const ask = modernAsker(aggregate());
      const tool = ((await ask('tools/list')).result!.tools as Json[]).find((one) => one.name === `${name}__app`)!;
      const result = {
        resultType: 'complete',
        content: [
          { type: 'resource_link', uri: 'file:///r.txt', name: 'r' },
          { type: 'resource', resource: { uri: 'config://app', text: 't' } },
        ],
        _meta: { ui: { resourceUri: 'ui://w/1.html' } },
      };
      const said = (await call(ask, `${name}__say`, { result: JSON.stringify(result) })).result!;
      const content = said.content as [{ uri: string }, { resource: { uri: string } }];
      const ui = (meta: unknown) => (meta as { ui: { resourceUri: string } }).ui.resourceUri;
      const handed = [ui(tool._meta), ui(said._meta), content[0].uri, content[1].resource.uri];
      const own = ['ui://w/1.html', 'ui://w/1.html', 'file:///r.txt', 'config://app'];
      for (const [n, uri] of handed.entries()) {
        assert.equal(new URL(uri).protocol, new URL(own[n]!).protocol);
        const read = await ask('resources/read', { uri });
        const [one] = read.result!.contents as [{ uri: string; text: string }];
        assert.equal(one.uri, uri);
        assert.match(one.text, new RegExp(`^${own[n]!.replaceAll('.', '\\.')} of ${name} `));
      }
    });
  }
});

describe('GB-094: two servers with the same URIs', () => {
  it('are listed both, told apart, read from the right one and completed there', async () => {
    const ask = modernAsker(aggregate());
    const uris = namesOf(await ask('resources/list'), 'resources', 'uri').filter((uri) =>
      uri.startsWith('config://app'),
    );
    assert.equal(new Set(uris).size, 2);
    const texts = await Promise.all(
      uris.map(async (uri) => ((await ask('resources/read', { uri })).result!.contents as { text: string }[])[0]!.text),
    );
    assert.deepEqual(
      texts.map((text) => text.split(' ')[2]),
      ['a', 'b'],
    );
    const templates = namesOf(await ask('resources/templates/list'), 'resourceTemplates', 'uriTemplate');
    assert.equal(new Set(templates).size, 2);
    for (const uri of templates) {
      const params = { ref: { type: 'ref/resource', uri }, argument: { name: 't', value: '' } };
      assert.deepEqual((await ask('completion/complete', params)).result!.completion, { values: ['db://{t}'] });
    }
    const missing = await ask('resources/read', { uri: 'config://app#lk.nobody' });
    assert.equal(missing.error?.code, -32602);
  });
});

describe('GB-095: _meta of a request', () => {
  const meta = {
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    tracestate: 'vendor=1',
    baggage: 'k=v',
    'com.example/x': { y: 1 },
    progressToken: 7,
    'io.modelcontextprotocol/clientInfo': { name: 'the-client', version: '9' },
  };

  for (const name of ['a', 'b']) {
    for (const era of ERAS) {
      it(`of a ${era} client reaches the ${name === 'a' ? 'legacy' : 'modern'} server, but for what is the hop's own`, async () => {
        const ask = await asker(era, at(name));
        await call(ask, 'rich', {}, { meta });
        const calls = (await seenBy(ask)).filter(
          ({ method, params }) => method === 'tools/call' && (params as Json).name === 'rich',
        );
        const sent = (calls.at(-1)!.params as Json)._meta as Record<string, unknown>;
        assert.deepEqual(sent['com.example/x'], { y: 1 });
        assert.equal(String(sent.traceparent).slice(3, 35), '0af7651916cd43dd8448eb211c80319c');
        assert.equal(sent.tracestate, 'vendor=1');
        assert.equal(sent.baggage, 'k=v');
        assert.notEqual(sent.progressToken, undefined);
        const reserved = (key: string) => sent[`io.modelcontextprotocol/${key}`];
        if (name === 'a') return assert.equal(reserved('protocolVersion'), undefined);
        assert.equal(reserved('protocolVersion'), '2026-07-28');
        assert.deepEqual(reserved('clientCapabilities'), {});
        assert.equal((reserved('clientInfo') as { name: string }).name, 'lockkeeper');
      });
    }
  }
});
