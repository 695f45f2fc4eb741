// Field cases of class FRM: do messages get through whole, whatever the chunks, the noise and the size?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { modernRequest } from '../harness/messages.ts';
import { openRaw, requestBytes, sendRaw } from '../harness/raw.ts';
import { type Asker, asker, call, ERAS, type Json, logOf, modernAsker, seenBy, server, textOf } from './stage.ts';

const MIXED = 'a—b 😀 漢';
const LIMIT = 4 * 1024 * 1024;

let lockkeeper: Lockkeeper;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);

before(async () => {
  lockkeeper = await startStandalone({
    servers: [
      server('noisy', 'writes-garbage'),
      server('bytewise', 'splits-utf8', { env: { SPLIT: 'bytes' } }),
      server('crlf', 'splits-utf8', { env: { CRLF: '1' } }),
      server('marked', 'splits-utf8', { env: { BOM: '1' }, more: { startTimeoutMs: 4000 } }),
      server('errors', 'returns-errors'),
      server('big', 'big-result', { env: {} }),
      server('told', 'says-anything', { isolation: 'shared', more: { pool: { max: 1 } } }),
      server('fragile', 'says-anything', { isolation: 'shared', env: { NAME: 'fragile' }, more: { pool: { max: 1 } } }),
    ],
    limits: { maxLineBytes: LIMIT },
  });
});
after(() => lockkeeper?.stop());

describe('GB-029: log lines on stdout', () => {
  for (const era of ERAS) {
    it(`are skipped, reach no ${era} client and restart nothing`, async () => {
      const ask = await asker(era, at('noisy'));
      for (const text of ['one', 'two']) {
        const answer = await call(ask, 'echo', { text });
        assert.equal(textOf(answer), text);
        assert.deepEqual(answer.before, []);
        assert.doesNotMatch(JSON.stringify(answer.message), /ready|not json|Done/);
      }
      assert.equal(textOf(await call(ask, 'bytes')), 'noise');
      assert.equal(textOf(await call(ask, 'garbage', { lines: 3000 })), 'noise');
    });
  }

  it('are told to the operator, and a flood of them is not', () => {
    const told = logOf(lockkeeper).filter((line) => line.server === 'noisy' && line.level === 40);
    assert.ok(told.length > 0, 'nothing was said');
    assert.ok(told.length < 50, `${told.length} lines`);
  });
});

describe('GB-030: characters split over chunks', () => {
  for (const era of ERAS) {
    it(`arrive whole from a server that writes byte by byte, at a ${era} client`, async () => {
      assert.equal(textOf(await call(await asker(era, at('bytewise')), 'echo', { text: MIXED })), MIXED);
    });
  }

  it('arrive whole in an error message, and in the data of a stream', async () => {
    const ask = modernAsker(at('errors'));
    const { error } = await call(ask, 'error', { code: 1001, message: MIXED });
    assert.equal(error?.message, MIXED);
    const streamed = await call(
      modernAsker(at('bytewise')),
      'echo',
      { text: MIXED },
      { headers: { accept: 'text/event-stream' } },
    );
    assert.match(streamed.headers.get('content-type') ?? '', /event-stream/);
    assert.equal(textOf(streamed), MIXED);
  });

  it('arrive whole from a client whose segments end inside them, in names too', async () => {
    const wish = { method: 'tools/call', params: { name: 'nobody-😀', arguments: { text: MIXED } } };
    const name = `=?base64?${Buffer.from('nobody-😀').toString('base64')}?=`;
    for (const [request, expected] of [
      [modernRequest({ method: 'tools/call', params: { name: 'echo', arguments: { text: MIXED } } }), MIXED],
      [modernRequest({ ...wish, headers: { 'mcp-name': name } }), 'nobody-😀'],
    ] as const) {
      const bytes = requestBytes(at('bytewise'), request);
      const cut = bytes.lastIndexOf(Buffer.from('😀')) + 2;
      const connection = await openRaw(at('bytewise'));
      connection.write(bytes.subarray(0, cut));
      await new Promise((written) => setImmediate(written));
      connection.write(bytes.subarray(cut));
      const text = await (await connection.response()).text();
      connection.destroy();
      assert.ok(text.includes(expected), text);
    }
  });
});

describe('GB-031: messages are not chunks', () => {
  it('(a) takes one answer of many chunks', async () => {
    const size = 3_000_000;
    assert.equal(textOf(await call(modernAsker(at('big')), 'big', { size })).length, size);
  });

  for (const [what, cut] of [
    ['(b) three answers in one write', undefined],
    ['(c) two and a half answers, then the rest', 40],
  ] as const) {
    it(`takes ${what}`, async () => {
      const ask = modernAsker(at('told'));
      const texts = ['first', 'second', 'third'];
      const args = (text: string) => ({ of: 3, text, ...(cut !== undefined && { cut }) });
      const answers = await Promise.all(texts.map((text) => call(ask, 'together', args(text))));
      assert.deepEqual(answers.map(textOf), texts);
    });
  }

  it('(d) takes lines that end in CRLF', async () => {
    assert.equal(textOf(await call(modernAsker(at('crlf')), 'echo', { text: MIXED })), MIXED);
  });

  it('(e) takes U+2028 in a string, both ways', async () => {
    const text = 'line\u2028paragraph\u2029end';
    for (const era of ERAS)
      assert.equal(textOf(await call(await asker(era, at('told')), 'later', { ms: 0, text })), text);
  });

  it('(f) answers in time when the first line begins with a byte order mark', async () => {
    const answer = await call(modernAsker(at('marked')), 'echo', { text: 'x' });
    const said = textOf(answer);
    assert.ok(said === 'x' || /could not be started/.test(said), said);
  });
});

describe('GB-032: the cap counts whole lines only', () => {
  it('lets a line just under it pass in pieces, and one over it fails its own request alone', async () => {
    const ask = modernAsker(at('told'));
    const pid = textOf(await call(ask, 'pid'));
    const beside = call(ask, 'later', { ms: 400, text: 'beside' });
    const under = await call(ask, 'pieces', { bytes: LIMIT - 1 });
    assert.equal(under.error, undefined, JSON.stringify(under.error));
    assert.ok(textOf(under).length > LIMIT - 200);
    const over = await call(ask, 'pieces', { bytes: 3 * LIMIT });
    assert.equal(over.result?.isError, true, JSON.stringify(over.message).slice(0, 300));
    assert.match(textOf(over), /larger than the limit/);
    assert.equal(textOf(await beside), 'beside');
    assert.equal(textOf(await call(ask, 'pid')), pid);
  });
});

describe('GB-033: a malformed frame of a client', () => {
  const valid = modernRequest({ id: 'q-7', method: 'tools/call', params: { name: 'pid', arguments: {} } })
    .body as string;
  let ask: Asker;
  before(() => {
    ask = modernAsker(at('fragile'));
  });

  for (const [what, body, code] of [
    ['no JSON', '{this is not json', -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', -32600],
    ['id null', valid.replace('"q-7"', 'null'), -32600],
    ['JSON-RPC 1.0', valid.replace('"2.0"', '"1.0"'), -32600],
  ] as const) {
    it(`is 400 with ${code} for ${what}, and nothing of it is written to the child`, async () => {
      const seen = await seenBy(ask);
      const request = modernRequest({ method: 'tools/call', params: { name: 'pid' } });
      const response = await sendRaw(at('fragile'), { ...request, body });
      const message = (await response.json()) as { error: { code: number } };
      response.destroy();
      assert.equal(response.status, 400);
      assert.equal(message.error.code, code);
      assert.equal((await seenBy(ask)).length, seen.length + 1);
    });
  }

  it('that is legal JSON on several lines reaches the child as one', async () => {
    const before = await seenBy(ask);
    const request = modernRequest({ method: 'tools/call', params: { name: 'pid' } });
    const spread = valid.replace('"arguments":{}', '"arguments":\r\n\t{ "a" :\n1 }');
    assert.notEqual(spread, valid);
    const response = await sendRaw(at('fragile'), { ...request, body: spread });
    const message = await response.text();
    response.destroy();
    assert.equal(response.status, 200, message);
    const after = await seenBy(ask);
    assert.equal(after.length, before.length + 2);
    assert.deepEqual((after.at(-2)!.params as Json).arguments, { a: 1 });
  });
});
