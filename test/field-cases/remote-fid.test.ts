// Field cases of class FID with remote servers: does everything that a server says over HTTP arrive as it was said, in a body
// or in an event, and everything that a client says that is not the hop's own?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { modernRequest } from '../harness/messages.ts';
import { sendRaw } from '../harness/raw.ts';
import type { Seen } from '../servers/http/raw-upstream.ts';
import { openRemoteStage, type RemoteStage, type RemoteWish } from './remote-stage.ts';
import { type Answered, asker, assertCalm, call, ERAS, type Json, legacyAsker, modernAsker, namesOf } from './stage.ts';

const TOOL = {
  name: 'rich',
  title: 'Rich',
  icons: [{ src: 'data:image/png;base64,AA==' }, { src: 'https://x.example/i.png', sizes: ['48x48'] }],
  annotations: { readOnlyHint: true, 'x-vendor': 1 },
  inputSchema: { type: 'object', properties: {} },
  outputSchema: { type: 'object', $defs: { a: { type: 'string' } }, properties: { a: { $ref: '#/$defs/a' } } },
  _meta: { 'com.example/cost': 3 },
  unknownFuture: { a: 1, b: [null, 1] },
};
const APP = {
  name: 'app',
  inputSchema: { type: 'object', properties: {} },
  _meta: { ui: { resourceUri: 'ui://w/1.html' } },
};
const SAY = { name: 'say', inputSchema: { type: 'object', properties: {} } };
const RESOURCE = {
  uri: 'config://app',
  name: 'app',
  size: 12345678901,
  mimeType: 'text/plain',
  annotations: { lastModified: '2026-01-01T00:00:00Z', priority: 0.5 },
};
/** As JavaScript would not write it. */
const EXACT = '{"z":1.0,"a":12345678901234567890,"10":"ten","2":"two","u":"\\u00e9\\/"}';

const wish = (name: string, kind: RemoteWish['kind'], replies: 'json' | 'sse' = 'json'): RemoteWish => ({
  kind,
  replies,
  tools: [TOOL, APP, SAY],
  capabilities: { tools: {}, resources: {}, completions: {} },
  call: (_name, args) => (args.result === undefined ? undefined : JSON.parse(String(args.result))),
  methods: {
    'resources/list': () => ({ resources: [RESOURCE, { uri: 'ui://w/1.html', name: 'w' }] }),
    'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'db://{t}', name: 'tables' }] }),
    'resources/read': ({ uri }) => ({ contents: [{ uri, text: `${uri} of ${name}` }] }),
    'completion/complete': ({ ref }) => ({ completion: { values: [(ref as Json).uri] } }),
  },
});

const NAMES = ['old', 'oldsse', 'older', 'new', 'newsse'] as const;
let stage: RemoteStage<(typeof NAMES)[number]>;
before(async () => {
  stage = await openRemoteStage(
    {
      old: wish('old', 'legacy'),
      oldsse: wish('oldsse', 'stateless', 'sse'),
      older: wish('older', 'sse'),
      new: wish('new', 'modern'),
      newsse: wish('newsse', 'modern', 'sse'),
    },
    { limits: { listTtlMs: 0 } },
  );
});
after(async () => {
  await stage?.stop();
});

const isModern = (name: string) => name.startsWith('new');
const say = (ask: Parameters<typeof call>[0], result: Json, tool = 'say') =>
  call(ask, tool, { result: JSON.stringify(result) });
const sans = ({ result, message }: Answered, ...keys: string[]) => {
  assert.ok(result !== undefined, JSON.stringify(message));
  return Object.fromEntries(Object.entries(result).filter(([key]) => !keys.includes(key)));
};

for (const name of NAMES) {
  describe(`from the ${name} server`, () => {
    it('GB-089: members of a result arrive all, known or not', async () => {
      const given = { content: [{ type: 'text', text: '6 items' }], structuredContent: { a: null }, vendorField: true };
      for (const era of ERAS) {
        const ask = await asker(era, stage.at(name));
        const { _meta, ...rest } = sans(
          await say(ask, { ...given, _meta: { 'com.example/k': { n: 1 } } }),
          'resultType',
        );
        assert.deepEqual(rest, given);
        assert.deepEqual((_meta as Json)['com.example/k'], { n: 1 });
      }
      if (!isModern(name)) return;
      const odd = { ...given, structuredContent: [1, { a: null }, 'x'] };
      assert.deepEqual(sans(await say(modernAsker(stage.at(name)), odd)).structuredContent, odd.structuredContent);
      const legacy = sans(await say(await legacyAsker(stage.at(name)), odd));
      assert.ok(!Array.isArray(legacy.structuredContent));
    });

    it('GB-090: members of a failed call arrive as they are, with 200', async () => {
      const failed = { content: [], structuredContent: { code: 'RATE_LIMITED', retry_after: 30 }, isError: true };
      for (const era of ERAS) {
        const answer = await say(await asker(era, stage.at(name)), failed);
        assert.equal(answer.status, 200);
        assert.deepEqual(sans(answer, 'resultType', '_meta'), failed);
      }
    });

    it('GB-089: a result is the bytes that were written', async () => {
      const up = stage.up[name];
      const bytes = (id: unknown) =>
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[],"structuredContent":${EXACT}}}`;
      if (name === 'older') return; // its answers are on a stream that no request owns: the event below is the same code
      await modernAsker(stage.at(name))('tools/list');
      up.when(
        'tools/call',
        (reply, seen: Seen) => {
          const text = bytes(seen.message?.id);
          if (!name.endsWith('sse')) return reply.body(200, { 'content-type': 'application/json' }, text);
          const stream = reply.stream();
          stream.write(`event: message\r\ndata: ${text}\r\n\r\n`);
          return stream.end();
        },
        1,
      );
      const response = await sendRaw(
        stage.at(name),
        modernRequest({ method: 'tools/call', params: { name: 'say', arguments: {} } }),
      );
      const text = await response.text();
      response.destroy();
      assert.ok(text.includes(EXACT), text);
    });

    it('GB-091: list items are deep-equal, twice, in the same order', async () => {
      const ask = modernAsker(stage.at(name));
      const [first, second] = [await ask('tools/list'), await ask('tools/list')];
      assert.deepEqual(first.result?.tools, [TOOL, APP, SAY]);
      assert.deepEqual(second.result?.tools, first.result?.tools);
      assert.deepEqual((await ask('resources/list')).result?.resources, [
        RESOURCE,
        { uri: 'ui://w/1.html', name: 'w' },
      ]);
    });

    it('GB-092: content of every kind arrives in order and whole', async () => {
      const content = [
        { type: 'text', text: '', annotations: { audience: ['user'], priority: 1 } },
        { type: 'image', data: 'AA=='.repeat(300_000), mimeType: 'image/png', _meta: { 'com.example/i': 1 } },
        { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
        { type: 'resource', resource: { uri: 'x://t', text: 'Tü\u2028', mimeType: 'text/plain' } },
        { type: 'resource_link', uri: 'x://l', name: 'l', title: 'L', size: 3, annotations: { priority: 0 } },
        { type: 'hologram', x: 1 },
      ];
      const large = JSON.stringify({ content });
      for (const era of ERAS) {
        const ask = await asker(era, stage.at(name));
        await ask('tools/list');
        stage.up[name].when('tools/call', (reply, seen) => answerLarge(name, large)(reply, seen), 1);
        if (name === 'older') stage.up[name].behave();
        const { result } = name === 'older' ? await say(ask, { content }) : await call(ask, 'say');
        assert.deepEqual(result?.content, content);
      }
    });

    it('GB-093: URIs that an aggregate hands out can be read, keep their scheme, and mean the server its own', async () => {
      const ask = modernAsker(stage.aggregate);
      const tools = (await ask('tools/list')).result!.tools as Json[];
      const ui = (meta: unknown) => (meta as { ui: { resourceUri: string } }).ui.resourceUri;
      const handed = [ui(tools.find((one) => one.name === `${name}__app`)!._meta)];
      const result = {
        content: [{ type: 'resource', resource: { uri: 'config://app', text: 't' } }],
        _meta: { ui: { resourceUri: 'ui://w/1.html' } },
      };
      const said = (await say(ask, result, `${name}__say`)).result!;
      handed.push(ui(said._meta), (said.content as [{ resource: { uri: string } }])[0].resource.uri);
      for (const [n, uri] of handed.entries()) {
        const own = ['ui://w/1.html', 'ui://w/1.html', 'config://app'][n]!;
        assert.equal(new URL(uri).protocol, new URL(own).protocol);
        const [one] = (await ask('resources/read', { uri })).result!.contents as [{ uri: string; text: string }];
        assert.deepEqual([one.uri, one.text], [uri, `${own} of ${name}`]);
      }
    });

    for (const era of ERAS) {
      it(`GB-095: _meta of a ${era} client’s request reaches it, but for what is the hop’s own`, async () => {
        const meta = {
          traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
          tracestate: 'vendor=1',
          baggage: 'k=v',
          'com.example/x': { y: 1 },
          progressToken: 7,
        };
        await call(await asker(era, stage.at(name)), 'rich', {}, { meta });
        const sent = stage.up[name].of('tools/call').at(-1)!.message!.params!._meta as Json;
        assert.deepEqual(sent['com.example/x'], { y: 1 });
        assert.equal(String(sent.traceparent).slice(3, 35), '0af7651916cd43dd8448eb211c80319c');
        assert.deepEqual([sent.tracestate, sent.baggage], ['vendor=1', 'k=v']);
        assert.notEqual(sent.progressToken, undefined);
        const reserved = (key: string) => sent[`io.modelcontextprotocol/${key}`];
        if (!isModern(name)) return assert.equal(reserved('protocolVersion'), undefined);
        assert.equal(reserved('protocolVersion'), '2026-07-28');
        assert.deepEqual(reserved('clientCapabilities'), {});
        assert.equal((reserved('clientInfo') as { name: string }).name, 'lockkeeper');
      });
    }
  });
}

/** In pieces, so that a character is cut where it hurts. */
function answerLarge(name: string, result: string) {
  return (reply: Parameters<Parameters<(typeof stage.up)['old']['when']>[1]>[0], seen: Seen) => {
    const text = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(seen.message?.id)},"result":${result}}`);
    const streamed = name.endsWith('sse');
    reply.raw.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
    if (streamed) reply.raw.write('data: ');
    const cut = text.indexOf(0xc3) + 1;
    reply.raw.write(text.subarray(0, cut));
    setImmediate(() => {
      reply.raw.write(text.subarray(cut));
      reply.raw.end(streamed ? '\n\n' : '');
    });
  };
}

describe('GB-094: servers with the same URIs', () => {
  it('are listed all, told apart, read from the right one and completed there', async () => {
    const ask = modernAsker(stage.aggregate);
    const uris = namesOf(await ask('resources/list'), 'resources', 'uri').filter((uri) => uri.startsWith('config://'));
    assert.equal(new Set(uris).size, NAMES.length);
    const owners = await Promise.all(
      uris.map(async (uri) => {
        const [one] = (await ask('resources/read', { uri })).result!.contents as [{ text: string }];
        return one.text.split(' of ')[1];
      }),
    );
    assert.deepEqual([...owners].sort(), [...NAMES].sort());
    const templates = namesOf(await ask('resources/templates/list'), 'resourceTemplates', 'uriTemplate');
    assert.equal(new Set(templates).size, NAMES.length);
    for (const uri of templates) {
      const params = { ref: { type: 'ref/resource', uri }, argument: { name: 't', value: '' } };
      assert.deepEqual((await ask('completion/complete', params)).result!.completion, { values: ['db://{t}'] });
    }
  });
});

it('leaves no trace of the unexpected in the log', () => assertCalm(stage.lockkeeper));
