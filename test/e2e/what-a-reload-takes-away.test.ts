// What was allowed when it began and is so no longer (design §5 "Reload", "Revocation"): streams of legacy sessions, and
// calls under way, whose token ends or whose route, server or permission a reload takes away.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { within } from '../harness/eventually.ts';
import { createIssuer, type Issuer } from '../harness/issuer.ts';
import { type Lockkeeper, startStandalone, type Wish } from '../harness/lockkeeper.ts';
import {
  answerTo,
  callLegacy,
  callModern,
  legacyRequest,
  modernRequest,
  openLegacySession,
} from '../harness/messages.ts';
import { sendRaw } from '../harness/raw.ts';

const SERVER = join(fileURLToPath(new URL('../servers/', import.meta.url)), 'never-answers.mjs');
const NAMES = ['plain', 'going', 'closed'] as const;
const path = (name: string) => `/acme/${name}/mcp`;
const PING = { jsonrpc: '2.0', id: 7, method: 'ping' };

describe('what a reload takes away, and what a clock does', { concurrency: false }, () => {
  let issuer: Issuer;
  let lockkeeper: Lockkeeper;
  const url = (name: string) => lockkeeper.route(path(name));
  const token = (name: string, ttlSeconds = 600) =>
    issuer.token({ sub: 'alice', audience: url(name), ttlSeconds, groups: ['dev'] });

  function wish(servers: readonly string[], allowed: readonly string[] = servers): Wish {
    const allow = allowed.map((server) => ({ server, tools: ['*'], prompts: ['*'], resources: ['*'] }));
    return {
      servers: servers.map((name) => ({ name, args: [SERVER], isolation: 'user' as const })),
      routes: servers.map((name) => ({ path: path(name), tenant: 'acme', server: name })),
      auth: { mode: 'jwt', issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] }] },
      policy: [{ tenant: 'acme', groups: ['dev'], allow }],
      limits: { drainMs: 2_000 },
    };
  }

  /** The two kinds of stream that stay open, each of a session of its own. */
  async function open(name: string, how: 'GET' | 'HTTP+SSE', ttlSeconds?: number) {
    const bearer = token(name, ttlSeconds);
    const authorization = `Bearer ${bearer}`;
    const accept = 'text/event-stream';
    if (how === 'HTTP+SSE') {
      const response = await sendRaw(url(name).replace(/mcp$/, 'sse'), {
        method: 'GET',
        headers: { accept, authorization },
      });
      return { response, ended: drained(response), session: null };
    }
    const { session } = await openLegacySession(url(name), { token: bearer });
    const headers = { accept, authorization, 'mcp-session-id': session! };
    const response = await sendRaw(url(name), { method: 'GET', headers });
    return { response, ended: drained(response), session };
  }

  async function drained(response: Awaited<ReturnType<typeof sendRaw>>): Promise<'ended'> {
    for await (const _event of response.events());
    return 'ended';
  }

  function isOpen(ended: Promise<'ended'>): Promise<boolean> {
    return Promise.race([ended.then(() => false), new Promise<true>((yes) => setImmediate(() => yes(true)))]);
  }

  /** A call that never ends by itself; by the time its stream begins it is under way. */
  async function waiting(name: string, session?: string) {
    const params = { name: 'wait', arguments: {} };
    const bearer = { token: token(name) };
    const request =
      session === undefined
        ? modernRequest({ method: 'tools/call', params, meta: { progressToken: 1 }, ...bearer })
        : legacyRequest({ session, message: { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, ...bearer });
    const response = await sendRaw(url(name), request);
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    return { answer: answerTo(response, 1) };
  }

  before(async () => {
    issuer = createIssuer();
    lockkeeper = await startStandalone(wish(NAMES));
  });
  after(async () => {
    await lockkeeper.stop();
    issuer.close();
  });

  for (const how of ['GET', 'HTTP+SSE'] as const) {
    test(`a ${how} stream ends with its token`, async () => {
      const { response, ended } = await open('plain', how, 2);
      assert.equal(response.status, 200);
      assert.equal(await within(ended, 15_000, 'end of the stream'), 'ended');
    });
  }

  test('a fresher token of the same person, shown for the session, keeps its stream open', async () => {
    const short = await open('plain', 'GET', 3);
    const other = await open('plain', 'GET', 3);
    const fresh = token('plain');
    const answer = await callLegacy(url('plain'), {
      session: short.session!,
      revision: '2025-11-25',
      token: fresh,
      message: PING,
    });
    assert.equal(answer.status, 200);
    await within(other.ended, 15_000, 'end of the other stream');
    assert.equal(await isOpen(short.ended), true);
    short.response.destroy();
  });

  test('streams and calls end with their route, their server, and the last of their permissions; others go on', async () => {
    const stays = await open('plain', 'GET');
    const streams = await Promise.all(
      (['going', 'closed'] as const).flatMap((name) => [open(name, 'GET'), open(name, 'HTTP+SSE')]),
    );
    for (const name of ['going', 'closed']) {
      const echo = { name: 'echo', arguments: { text: 'warm' } };
      assert.equal(
        (await callModern(url(name), { method: 'tools/call', params: echo, token: token(name) })).status,
        200,
      );
    }
    const calls = [await waiting('going'), await waiting('closed'), await waiting('going', streams[0]!.session!)];
    lockkeeper.rewrite!(wish(['plain', 'closed'], ['plain']));
    for (const { ended } of streams) await within(ended, 15_000, 'end of a stream');
    for (const { answer } of calls) {
      const { message } = await within(answer, 15_000, 'end of a call');
      const result = message?.result as { isError?: boolean; _meta?: Record<string, unknown> };
      assert.deepEqual([result?.isError, result?._meta?.['lockkeeper/reason']], [true, 'revoked']);
    }
    assert.equal(await isOpen(stays.ended), true);
    stays.response.destroy();
  });
});
