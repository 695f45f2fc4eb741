// Over TLS: is a server only believed under its own name, and is one connection enough for a session where it can be?

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { RemoteError } from '../../../src/remote/contract.ts';
import { ask, createStage, echo, post, remoteSpec, resolveTo } from './stage.ts';

const stage = createStage();
const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-tls-'));
const server = { port: 0, connections: 0, ca: '' };
let stop = (): void => {};

before(async () => {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=good.test', '-addext', 'subjectAltName=DNS:good.test'];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const made = spawnSync('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', cert], { encoding: 'utf8' });
  assert.equal(made.status, 0, `openssl is needed to make a certificate: ${made.stderr ?? made.error}`);
  server.ca = readFileSync(cert, 'utf8');
  const tls = createSecureServer({ key: readFileSync(key), cert: server.ca, allowHTTP1: true }, (request, response) => {
    void echo(request as never, response as never);
  });
  tls.on('secureConnection', () => server.connections++);
  const sessions = new Set<{ destroy(): void }>();
  tls.on('session', (session) => sessions.add(session));
  await new Promise<void>((resolve) => tls.listen(0, '127.0.0.1', resolve));
  server.port = (tls.address() as AddressInfo).port;
  stop = () => {
    for (const session of sessions) session.destroy();
    tls.close();
  };
});
after(async () => {
  await stage.close();
  stop();
  rmSync(folder, { recursive: true });
});

const doorTo = (host: string, more: object, session?: string) =>
  stage
    .doors(resolveTo({ 'good.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] }))
    .doorOf(remoteSpec(`https://${host}:${server.port}/mcp`, { plain: false, ...more }), session);

const unproven = (error: unknown) => error instanceof RemoteError && error.kind === 'tls' && !error.sent;

test('a server is believed under the name in its certificate, when its authority is known', async () => {
  assert.equal(await ask(doorTo('good.test', { ca: server.ca }), post('hello')), 'hello');
  await assert.rejects(doorTo('other.test', { ca: server.ca }).send(post('{}')), unproven);
  await assert.rejects(doorTo('good.test', {}).send(post('{}')), unproven);
});

test('a session needs one connection for many requests at once, where the server speaks HTTP/2', async () => {
  const door = doorTo('good.test', { ca: server.ca }, 's');
  const before = server.connections;
  const bodies = Array.from({ length: 10 }, (_, i) => `${i}`);
  assert.deepEqual(await Promise.all(bodies.map((body) => ask(door, post(body)))), bodies);
  assert.equal(server.connections, before + 1);
});
