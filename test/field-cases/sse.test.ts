// Field cases of class SSE that need a quiet stream: is it open, kept alive by comments alone, and still good
// afterwards? The minutes that a test cannot wait are keep-alive periods here.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { within } from '../harness/eventually.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { callModern, modernRequest, openLegacySession } from '../harness/messages.ts';
import { openRaw, type RawResponse, sendRaw } from '../harness/raw.ts';
import type { SseEvent } from '../harness/raw-sse.ts';
import { server } from './stage.ts';

const PERIODS = 3;
const PATH = '/acme/tells/mcp';

let keeper: Lockkeeper;

before(async () => {
  keeper = await startStandalone({
    servers: [server('tells', 'tells-changes', { isolation: 'shared' })],
    limits: { keepAliveMs: 1_000 },
  });
});

after(() => keeper?.stop());

async function openListen(): Promise<RawResponse> {
  const params = { notifications: { toolsListChanged: true } };
  return sendRaw(keeper.route(PATH), modernRequest({ method: 'subscriptions/listen', id: 'quiet', params }));
}

async function openGet(): Promise<RawResponse> {
  const url = new URL(keeper.route(PATH));
  const { session } = await openLegacySession(url.href);
  const connection = await openRaw(url.href);
  connection.write(
    [
      `GET ${url.pathname} HTTP/1.1`,
      `host: ${url.host}`,
      'accept: text/event-stream',
      `mcp-session-id: ${session}`,
      'mcp-protocol-version: 2025-11-25',
      '',
      '',
    ].join('\r\n'),
  );
  return Object.assign(await connection.response(), { destroy: () => connection.destroy() });
}

async function next(events: AsyncGenerator<SseEvent>): Promise<SseEvent> {
  const { value, done } = await within(events.next(), 15_000, 'an event');
  assert.ok(!done, 'the stream has ended');
  return value;
}

describe('GB-073: an idle stream', () => {
  for (const [what, open] of [
    ['a listen', openListen],
    ['a legacy GET stream', openGet],
  ] as const) {
    it(`(${what}) is open before there is news, lives on comments alone while all is quiet, and then brings the news`, async () => {
      const response = (await open()) as RawResponse & { destroy(): void };
      try {
        assert.equal(response.status, 200);
        assert.equal(response.headers.get('content-type')?.split(';')[0], 'text/event-stream');
        const events = response.events();
        let comments = 0;
        const said: unknown[] = [];
        while (comments < PERIODS) {
          const event = await next(events);
          if (event.data) said.push(JSON.parse(event.data).method);
          else if (event.comment !== undefined) comments += 1;
        }
        assert.deepEqual(said, what === 'a listen' ? ['notifications/subscriptions/acknowledged'] : []);
        await callModern(keeper.route(PATH), {
          method: 'tools/call',
          params: { name: 'grow', arguments: { name: what.replaceAll(' ', '-') } },
        });
        let news = await next(events);
        while (!news.data) news = await next(events);
        assert.equal(JSON.parse(news.data).method, 'notifications/tools/list_changed');
      } finally {
        response.destroy();
      }
    });
  }
});
