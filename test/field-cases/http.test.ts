// Field cases of class HTTP: is a client answered in a form that it takes, whatever it says of it?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { legacyRequest, modernRequest } from '../harness/messages.ts';
import { sendRaw } from '../harness/raw.ts';
import { asker, call, ERAS, legacyAsker, server } from './stage.ts';

let lockkeeper: Lockkeeper;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);

before(async () => {
  lockkeeper = await startStandalone({
    servers: [server('echo', 'echo-legacy'), server('works', 'progress-and-logs')],
    limits: { holdMs: 20, keepAliveMs: 1000 },
  });
});
after(() => lockkeeper?.stop());

const ACCEPTED = [
  '*/*',
  'application/json',
  undefined,
  '',
  'application/json;q=0.9, text/event-stream;q=0.1',
  'APPLICATION/JSON',
  'application/*',
  'text/event-stream',
  'text/html, */*;q=0.1',
];

describe('GB-147: what a client accepts', () => {
  for (const era of ERAS) {
    for (const accept of ACCEPTED) {
      it(`${JSON.stringify(accept)} of a ${era} client is answered in a form it takes`, async () => {
        const answer = await (await asker(era, at('echo')))('tools/list', {}, { headers: { accept } });
        assert.equal(answer.status, 200);
        assert.ok(answer.result);
        const form = answer.headers.get('content-type') ?? '';
        assert.match(form, accept === 'text/event-stream' ? /^text\/event-stream/ : /^application\/json/);
      });
    }

    it(`application/json alone of a ${era} client is never answered by a stream, however slow the call`, async () => {
      const ask = await asker(era, at('works'));
      const more = { meta: { progressToken: 1 }, headers: { accept: 'application/json' } };
      const answer = await call(ask, 'work', { steps: 3, everyMs: 500 }, more);
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
      assert.ok(answer.result);
    });

    it(`what shuts both forms out is 406 for a ${era} client`, async () => {
      const answer = await (await asker(era, at('echo')))('tools/list', {}, { headers: { accept: 'text/html' } });
      assert.equal(answer.status, 406);
      assert.ok(answer.error);
    });
  }

  it('two Accept headers count together', async () => {
    const { headers, body } = modernRequest({ method: 'tools/list' });
    const others = Object.entries(headers as Record<string, string>).filter(([name]) => name !== 'accept');
    const response = await sendRaw(at('echo'), {
      headers: [...others, ['accept', 'application/json'], ['accept', 'text/event-stream']],
      body: body!,
    });
    response.destroy();
    assert.equal(response.status, 200);
  });

  it('a media type with parameters is taken, another one is 415', async () => {
    const session = (await legacyAsker(at('echo'))).session;
    for (const [type, status] of [
      ['application/json; charset=utf-8', 200],
      ['APPLICATION/JSON', 200],
      ['text/plain', 415],
      ['application/x-www-form-urlencoded', 415],
    ] as const) {
      const headers = { 'content-type': type };
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
      for (const request of [
        modernRequest({ method: 'tools/list', headers }),
        legacyRequest({ message, session, revision: '2025-11-25', headers }),
      ]) {
        const response = await sendRaw(at('echo'), request);
        response.destroy();
        assert.equal(response.status, status, type);
      }
    }
  });

  it('a slash at the end of the path makes no difference and no redirect', async () => {
    for (const era of ERAS) {
      const answer = await call(await asker(era, `${at('echo')}/`), 'echo', { text: 'x' });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('location'), undefined);
    }
  });
});
