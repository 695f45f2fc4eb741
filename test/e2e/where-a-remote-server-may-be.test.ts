// Does the configuration of a remote server say where it may be, and does nothing lead elsewhere: no spelling of an address,
// no name, no redirect (auth-security.md NET-1, NET-3, T-8)? Every address here is one that must not be reached, so each is
// listened on, and a connection is a failure.

import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { asker, call, modernAsker, textOf } from '../field-cases/stage.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { type RawUpstream, startRawUpstream } from '../servers/http/raw-upstream.ts';

const FAST = { startTimeoutMs: 3_000 };
/** As an operator might write them, and how each is refused: public only, or inside a range that is not loopback. */
const OUTSIDE = { plain: true, cidrs: ['10.0.0.0/8', 'fd00::/8'] };
const SPELLINGS = [
  '127.0.0.1',
  'localhost',
  '2130706433',
  '0x7f.1',
  '0177.0.0.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '127.1',
];

let canary: Server;
let connections = 0;
let port = 0;
let honest: RawUpstream;
let lockkeeper: Lockkeeper;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);

before(async () => {
  canary = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => canary.listen(0, '::', resolve));
  port = (canary.address() as AddressInfo).port;
  honest = await startRawUpstream({ kind: 'modern' });
  const secret = { headers: { authorization: 'Bearer secret-of-the-operator' } };
  lockkeeper = await startStandalone({
    servers: [
      ...SPELLINGS.map((host, n) => ({
        name: `outside-${n}`,
        http: { url: `http://${host}:${port}/mcp`, ...OUTSIDE, ...secret },
        more: FAST,
      })),
      ...SPELLINGS.map((host, n) => ({
        name: `public-${n}`,
        http: { url: `https://${host}:${port}/mcp`, plain: false, cidrs: [], ...secret },
        more: FAST,
      })),
      { name: 'honest', http: { url: honest.url, ...secret } },
    ],
  });
});
after(async () => {
  await lockkeeper?.stop();
  await honest?.close();
  canary?.close();
});

describe('an address outside what is allowed', () => {
  for (const [n, host] of SPELLINGS.entries()) {
    for (const kind of ['outside', 'public']) {
      it(`${host} (${kind === 'outside' ? 'not in the declared ranges' : 'not a public one'}) is not connected to`, async () => {
        const { status, error } = await modernAsker(at(`${kind}-${n}`))('tools/list');
        assert.deepEqual([status, error?.code], [200, 10003]);
        assert.equal(connections, 0);
        assert.doesNotMatch(JSON.stringify(error), /secret-of-the-operator/);
      });
    }
  }

  it('is told to the operator, who is the one to change it', () => {
    assert.match(lockkeeper.process.logs(), /"outside-0"/);
    assert.doesNotMatch(lockkeeper.process.logs(), /secret-of-the-operator/);
  });
});

describe('a redirect', () => {
  for (const [what, location] of [
    ['to the metadata service', 'http://169.254.169.254/latest/meta-data/'],
    ['to another port of the same host', () => `http://127.0.0.1:${port}/mcp`],
    ['to another name of the same place', () => honest.url.replace('127.0.0.1', 'localhost')],
    ['to another scheme', () => honest.url.replace('http:', 'https:')],
    ['to a file', 'file:///etc/passwd'],
    ['with a password', () => honest.url.replace('http://', 'http://user:password@')],
  ] as const) {
    for (const status of [302, 307, 308]) {
      it(`${what} by ${status} is not followed`, async () => {
        const ask = modernAsker(at('honest'));
        await ask('tools/list');
        const before = honest.seen.length;
        const target = typeof location === 'string' ? location : location();
        honest.when('tools/call', (reply) => reply.body(status, { location: target }), 1);
        const answer = await call(ask, 'echo');
        assert.equal(answer.result?.isError, true, JSON.stringify(answer.message));
        assert.deepEqual([connections, honest.seen.length], [0, before + 1]);
        assert.doesNotMatch(JSON.stringify(answer.message), /secret-of-the-operator|passwd/);
      });
    }
  }

  it('in a circle ends', async () => {
    const ask = modernAsker(at('honest'));
    await ask('tools/list');
    const before = honest.seen.length;
    honest.when('tools/call', (reply) => reply.body(307, { location: '/mcp' }));
    const answer = await call(ask, 'echo');
    honest.behave();
    assert.equal(answer.result?.isError, true);
    assert.ok(honest.seen.length - before < 12, `${honest.seen.length - before} requests`);
  });

  it('inside the same origin by 307 is followed, with method, body and credentials', async () => {
    const ask = await asker('legacy', at('honest'));
    await ask('tools/list');
    honest.when('tools/call', (reply) => reply.body(307, { location: '/mcp/?moved=1' }), 1);
    assert.match(textOf(await call(ask, 'echo', { n: 1 })), /"n":1/);
    const last = honest.of('tools/call').at(-1)!;
    assert.deepEqual([last.path, last.headers.authorization], ['/mcp/?moved=1', 'Bearer secret-of-the-operator']);
  });
});
