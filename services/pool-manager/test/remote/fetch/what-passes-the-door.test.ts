// What goes to a remote server and what comes back: bytes, headers, credentials, redirects, ends.

import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { after, test } from 'node:test';
import { eventually } from '../../../../../test/harness/eventually.ts';
import { RemoteError } from '../../../src/remote/contract.ts';
import { ask, bodyOf, createStage, echo, get, post, remoteSpec, resolveTo, textOf } from './stage.ts';

const stage = createStage();
after(() => stage.close());

const failsAs = (kind: string, sent: boolean, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof RemoteError, String(error));
  assert.deepEqual([error.kind, error.sent], [kind, sent], error.words);
  assert.match(error.words, words);
  return true;
};

test('a body arrives whole, in one piece or in many', async () => {
  const { port } = await stage.serve((request, response) => void echo(request, response));
  const door = stage.doors().doorOf(remoteSpec(`http://127.0.0.1:${port}/mcp`));
  assert.equal(await ask(door, post('{"a":1}')), '{"a":1}');
  const pieces = Array.from({ length: 40 }, (_, i) => Buffer.alloc(5_000, 65 + (i % 26)));
  assert.equal(await ask(door, post('', { body: pieces })), Buffer.concat(pieces).toString());
  assert.equal(await ask(door, post('', { body: [Buffer.from('a'), Buffer.from('b')] })), 'ab');
});

test('credentials of the configuration go with each request; nothing else that is not ours does', async () => {
  const seen: IncomingHttpHeaders[] = [];
  const { port } = await stage.serve((request, response) => {
    seen.push(request.headers);
    response.end();
  });
  const headers = { authorization: 'Bearer ours', 'x-key': 'k' };
  const door = stage.doors().doorOf(remoteSpec(`http://127.0.0.1:${port}/mcp`, { headers }));
  const theirs = { authorization: 'Bearer theirs', cookie: 'a=b', 'x-forwarded-for': '9.9.9.9', host: 'elsewhere' };
  const more = { 'mcp-session-id': 's', 'proxy-authorization': 'p', connection: 'upgrade', 'content-length': '99' };
  await ask(door, get({ headers: { ...theirs, ...more, 'x-key': 'other', traceparent: 't' } }));
  assert.deepEqual(seen, [
    {
      ...{ host: `127.0.0.1:${port}`, connection: 'keep-alive', 'user-agent': 'lockkeeper/test' },
      ...{ authorization: 'Bearer ours', 'x-key': 'k', 'mcp-session-id': 's', traceparent: 't' },
      'accept-encoding': 'identity',
    },
  ]);
});

test('what is meant for one hop or a browser stays outside; cookies are not kept', async () => {
  const cookies: (string | undefined)[] = [];
  const { port } = await stage.serve((request, response) => {
    cookies.push(request.headers.cookie);
    response.setHeader('Set-Cookie', 'a=b');
    response.setHeader('Connection', 'keep-alive, x-hop');
    response.setHeader('X-Hop', '1');
    response.setHeader('Mcp-Session-Id', 's');
    response.end();
  });
  const door = stage.doors().doorOf(remoteSpec(`http://127.0.0.1:${port}/mcp`));
  const first = await door.send(post('{}'));
  await textOf(first);
  await ask(door);
  assert.deepEqual([...first.headers.keys()].sort(), ['content-length', 'date', 'mcp-session-id']);
  assert.deepEqual(cookies, [undefined, undefined]);
});

test('a redirect is followed inside the origin by what keeps method and body, a few times', async () => {
  const { port } = await stage.serve(async (request, response) => {
    const body = await bodyOf(request);
    if (request.url === '/mcp') response.writeHead(307, { location: '/mcp/' }).end('moved');
    else if (request.url === '/circle') response.writeHead(308, { location: '/circle' }).end();
    else if (request.url === '/found') response.writeHead(302, { location: '/mcp/' }).end();
    else if (request.url === '/done') response.writeHead(303, { location: '/mcp/' }).end();
    else if (request.url === '/lost') response.writeHead(307).end();
    else response.end(`${request.method} ${body}`);
  });
  const doors = stage.doors();
  const door = (path: string) => doors.doorOf(remoteSpec(`http://127.0.0.1:${port}${path}`));
  assert.equal(await ask(door('/mcp'), post('b')), 'POST b');
  assert.equal(await ask(door('/found'), get()), 'GET ');
  await assert.rejects(door('/circle').send(post('b')), failsAs('redirect', false, /in a circle/));
  await assert.rejects(door('/found').send(post('b')), failsAs('redirect', true, /redirects a POST by status 302/));
  await assert.rejects(door('/done').send(post('b')), failsAs('redirect', true, /status 303/));
  await assert.rejects(door('/lost').send(post('b')), failsAs('redirect', false, /to nowhere/));
});

test('a redirect to another origin is refused, and nothing goes there', async () => {
  let visits = 0;
  const other = await stage.serve((_request, response) => {
    visits++;
    response.end();
  });
  const { port } = await stage.serve((_request, response) => {
    response.writeHead(307, { location: `http://127.0.0.1:${other.port}/mcp` }).end();
  });
  const door = stage.doors().doorOf(remoteSpec(`http://127.0.0.1:${port}/mcp`, { headers: { authorization: 'k' } }));
  await assert.rejects(door.send(post('{}')), failsAs('redirect', false, /another origin, http:\/\/127\.0\.0\.1:/));
  await assert.rejects(door.send(get()), failsAs('redirect', false, /another origin/));
  const elsewhere = get({ url: `http://127.0.0.1:${other.port}/messages` });
  await assert.rejects(door.send(elsewhere), failsAs('redirect', false, /another origin/));
  assert.equal(await ask(door, get({ url: '/x' })).catch((error: RemoteError) => error.kind), 'redirect');
  assert.equal(visits, 0);
});

test('a name is refused when one of its addresses is, and the one that was checked is connected to', async () => {
  const hosts: (string | undefined)[] = [];
  const { port } = await stage.serve((request, response) => {
    hosts.push(request.headers.host);
    response.end('here');
  });
  const doors = stage.doors(resolveTo({ good: ['127.0.0.1'], mixed: ['127.0.0.1', '10.0.0.1'], far: ['1.1.1.1'] }));
  const door = (host: string, cidrs: readonly string[]) =>
    doors.doorOf(remoteSpec(`http://${host}:${port}/mcp`, { cidrs }));
  assert.equal(await ask(door('good', ['127.0.0.0/8'])), 'here');
  assert.deepEqual(hosts, [`good:${port}`]);
  const refused = failsAs('refused-address', false, /http\.cidrs/);
  await assert.rejects(door('mixed', ['127.0.0.0/8']).send(post('{}')), refused);
  await assert.rejects(door('far', ['127.0.0.0/8']).send(post('{}')), refused);
  await assert.rejects(door('good', []).send(post('{}')), refused);
  for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', '[::1]', '0']) {
    await assert.rejects(door(host, []).send(post('{}')), refused, host);
  }
  assert.equal(hosts.length, 1);
});

test('a server that is not there is told by what failed, and surely got nothing', async () => {
  const doors = stage.doors(resolveTo({}));
  const gone = await stage.serve(() => {});
  gone.server.close();
  const to = (url: string) => doors.doorOf(remoteSpec(url)).send(post('{}'));
  await assert.rejects(to('http://nowhere/mcp'), failsAs('dns', false, /name nowhere cannot be resolved/));
  await assert.rejects(to(`http://127.0.0.1:${gone.port}/mcp`), failsAs('connect', false, /cannot be reached/));
  await assert.rejects(
    to(`https://127.0.0.1:${(await stage.serve(echo)).port}/mcp`),
    failsAs('tls', false, /TLS failed/),
  );
});

test('a server that falls silent, breaks off or talks too much is told as what it did, and may have run', async () => {
  const { port } = await stage.serve((request, response) => {
    if (request.url === '/reset') request.socket.destroy();
    if (request.url === '/headers') response.writeHead(200, { 'x-long': 'x'.repeat(9_000) }).end();
    if (request.url === '/gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end('x');
    if (request.url === '/half') response.writeHead(200, { 'content-length': '10' }).write('half');
    if (request.url === '/cut') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      setImmediate(() => request.socket.destroy());
    }
  });
  const doors = stage.doors();
  const limits = { headersMs: 300, idleStreamMs: 300, maxHeaderBytes: 8_192 };
  const to = (path: string) => doors.doorOf(remoteSpec(`http://127.0.0.1:${port}${path}`, limits)).send(post('{}'));
  await assert.rejects(to('/silent'), failsAs('timeout', true, /did not begin to answer/));
  await assert.rejects(to('/reset'), failsAs('reset', true, /closed the connection/));
  await assert.rejects(to('/headers'), failsAs('reset', true, /longer headers/));
  await assert.rejects(to('/gzip'), failsAs('reset', true, /compressed/));
  await assert.rejects(to('/half').then(textOf), failsAs('timeout', true, /stopped coming/));
  await assert.rejects(to('/cut').then(textOf), failsAs('reset', true, /closed the connection/));
});

test('who gives a request up, or a stream, closes it at the server', async () => {
  let closed = 0;
  const { port } = await stage.serve((request, response) => {
    response.on('close', () => closed++);
    if (request.url === '/stream')
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  });
  const door = stage.doors().doorOf(remoteSpec(`http://127.0.0.1:${port}/stream`));
  const [waiting, reading] = [new AbortController(), new AbortController()];
  const pending = door.send(get({ url: '/wait', signal: waiting.signal }));
  const stream = await door.send(get({ signal: reading.signal }));
  const chunks = stream.body[Symbol.asyncIterator]();
  assert.equal(Buffer.from((await chunks.next()).value).toString(), 'data: 1\n\n');
  reading.abort();
  await assert.rejects(chunks.next(), failsAs('aborted', true, /given up/));
  waiting.abort();
  await assert.rejects(pending, failsAs('aborted', true, /given up/));
  (await door.send(get())).discard();
  await eventually(() => closed === 3);
  await assert.rejects(door.send(get({ signal: AbortSignal.abort() })), failsAs('aborted', false, /given up/));
});

test('connections are as many as allowed, and a session keeps its own', async () => {
  const held: (() => void)[] = [];
  let most = 0;
  let alone = false;
  const server = await stage.serve((_request, response) => {
    held.push(() => response.end('x'));
    most = Math.max(most, held.length);
    // As long as there are pairs of requests, so long are there pairs of answers.
    if (alone || held.length === 2) for (const end of held.splice(0)) end();
  });
  const doors = stage.doors();
  const spec = remoteSpec(`http://127.0.0.1:${server.port}/mcp`, { maxConnections: 2, connectMs: 1_000 });
  await Promise.all(Array.from({ length: 20 }, () => ask(doors.doorOf(spec))));
  assert.deepEqual([most, server.sockets()], [2, 2]);
  await doors.doorOf(spec).close();
  alone = true;
  const session = doors.doorOf(spec, 's1');
  for (let i = 0; i < 3; i++) await ask(session);
  assert.equal(server.sockets(), 3);
  const other = doors.doorOf(spec, 's2');
  await ask(other);
  assert.equal(server.sockets(), 4);
  // Nobody waits for one that only rests: the one that was used longest ago goes.
  await ask(doors.doorOf(spec, 's3'));
  await ask(other);
  assert.equal(server.sockets(), 5);
  await ask(session);
  assert.equal(server.sockets(), 6);
});

test('who finds all connections in use waits for one, as long as for a connection itself', async () => {
  const held: (() => void)[] = [];
  const server = await stage.serve((_request, response) => void held.push(() => response.end('x')));
  const doors = stage.doors();
  const spec = remoteSpec(`http://127.0.0.1:${server.port}/mcp`, { maxConnections: 2, connectMs: 1_000 });
  const session = doors.doorOf(spec, 's1');
  const running = [ask(session), ask(doors.doorOf(spec, 's2'))];
  await eventually(() => held.length === 2);
  await assert.rejects(doors.doorOf(spec, 's3').send(post('{}')), failsAs('full', false, /http\.maxConnections/));
  const waiting = [ask(doors.doorOf(spec, 's4')), ask(doors.doorOf(spec, 's5'))];
  for (const end of held.splice(0)) end();
  await eventually(() => held.length === 2);
  for (const end of held.splice(0)) end();
  assert.deepEqual(await Promise.all([...running, ...waiting]), ['x', 'x', 'x', 'x']);
  const last = [ask(session), ask(doors.doorOf(spec, 's2'))];
  await eventually(() => held.length === 2);
  const late = ask(doors.doorOf(spec, 's6'));
  await assert.rejects(
    session.close().then(() => last[0]),
    failsAs('aborted', true, /given up/),
  );
  await eventually(() => held.length === 3);
  for (const end of held.splice(0)) end();
  assert.equal(await late, 'x');
  assert.equal(await last[1], 'x');
});

test('a connection that rests beside one in use gives way to a session that has none', async () => {
  const held: (() => void)[] = [];
  const server = await stage.serve((_request, response) => void held.push(() => response.end('x')));
  const doors = stage.doors();
  const spec = remoteSpec(`http://127.0.0.1:${server.port}/mcp`, { maxConnections: 3, connectMs: 1_000 });
  const shared = doors.doorOf(spec);
  const burst = [ask(shared), ask(shared), ask(shared)];
  await eventually(() => held.length === 3);
  for (const end of held.splice(1)) end();
  await Promise.race(burst);
  const sessions = [ask(doors.doorOf(spec, 's1')), ask(doors.doorOf(spec, 's2'))];
  await eventually(() => held.length === 3);
  // What was under way all the while was not touched.
  for (const end of held.splice(0)) end();
  assert.deepEqual(await Promise.all([...burst, ...sessions]), ['x', 'x', 'x', 'x', 'x']);
  assert.equal(server.sockets(), 5);
});

test('a closed door ends what runs over it and takes nothing more', async () => {
  const { port } = await stage.serve(() => {});
  const door = stage.doors().doorOf(remoteSpec(`http://127.0.0.1:${port}/mcp`));
  const pending = door.send(post('{}'));
  const failed = assert.rejects(pending, (error) => error instanceof RemoteError && error.kind === 'aborted');
  await door.close();
  await failed;
  await assert.rejects(door.send(post('{}')), failsAs('aborted', false, /closed/));
});
