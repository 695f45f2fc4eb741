// `npm run pool` and `npm run token` are typed where the secrets of a node are not: do they need only what they read?

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Folder, makeFolder } from '../config/sample.ts';

const cli = (name: string) => fileURLToPath(new URL(`../../src/cli/${name}.ts`, import.meta.url));

let folder: Folder;
let node: Server;
const shown: (string | undefined)[] = [];

/** Everything that a running node wants is a reference that nobody has set here. */
function config({ state = '"redis://:${env:REDIS_PASSWORD}@redis:6379"', audience = '' } = {}): string {
  const port = (node.address() as AddressInfo).port;
  return `listen: { port: 8080, adminPort: 9090, adminToken: "\${file:no-token}" }
state: ${state}
link: { secret: "\${env:LINK_SECRET}", adminPort: ${port} }
seal: { keys: [{ kid: a, key: "\${file:no-seal}" }] }
auth:
  mode: jwt
  issuers: [{ issuer: https://idp.example, jwksFile: ./jwks.json, tenants: [acme]${audience} }]
tenants: [{ name: acme, credentials: { gh: { Authorization: "Bearer \${env:GH}" } } }]
servers:
  - { name: one, tenant: acme, isolation: user, stdio: { command: node, env: { KEY: "\${env:KEY}" } } }
  - { name: far, tenant: acme, isolation: user, http: { url: "\${env:FAR_URL}", ca: "\${file:no-ca}", credential: gh } }
routes: [{ path: /acme/one/mcp, tenant: acme, server: one }, { path: /acme/far/mcp, tenant: acme, server: far }]
`;
}

function run(name: string, words: readonly string[], set: Record<string, string> = {}) {
  const { LOCKKEEPER_CONFIG: _, LOCKKEEPER_ADMIN_TOKEN: __, ...env } = process.env;
  const args = [cli(name), '--config', 'lockkeeper.yaml', ...words];
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, args, { cwd: folder.path, env: { ...env, ...set } }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}

before(async () => {
  node = createServer((request, response) => {
    shown.push(request.headers.authorization);
    request.resume();
    response.end(JSON.stringify({ processes: request.method === 'GET' ? [] : ['p-1'] }));
  });
  await new Promise<void>((listening) => node.listen(0, '127.0.0.1', listening));
  folder = makeFolder({ 'lockkeeper.yaml': config() });
});
after(() => {
  node.close();
  folder.remove();
});

test('a list needs the place of the admin port, and shows no token', async () => {
  const { code, stderr } = await run('pool', ['list']);
  assert.deepEqual([code, stderr, shown.at(-1)], [0, '', undefined]);
});

test('an order needs the token, and names where it should come from', async () => {
  const before = shown.length;
  const { code, stderr } = await run('pool', ['drain', 'p-1']);
  assert.deepEqual([code, shown.length], [1, before]);
  assert.match(stderr, /^lockkeeper\.yaml:1:\d+: the file no-token does not exist: .*\n$/);
});

test('an order with a token from the environment or from the file needs nothing else', async () => {
  const given = await run('pool', ['drain', 'p-1'], { LOCKKEEPER_ADMIN_TOKEN: 'given' });
  assert.deepEqual([given.stdout, shown.at(-1)], ['drain: p-1\n', 'Bearer given']);
  folder.write('no-token', 'a-token-of-the-file\n');
  const read = await run('pool', ['drain', 'p-1']);
  assert.deepEqual([read.stdout, shown.at(-1)], ['drain: p-1\n', 'Bearer a-token-of-the-file']);
});

test('a state that is only a reference decides where the admin port is, so it is needed', async () => {
  folder.write('lockkeeper.yaml', config({ state: '"${env:STATE}"' }));
  assert.match(
    (await run('pool', ['list'])).stderr,
    /^lockkeeper\.yaml:2:\d+: the environment variable STATE is not set/,
  );
  const set = await run('pool', ['list'], { STATE: 'rediss://redis:6379' });
  assert.deepEqual([set.code, set.stderr], [0, '']);
  folder.write('lockkeeper.yaml', config());
});

test('a token needs who signs it, for whom and where', async () => {
  const words = ['--dir', 'dev', '--sub', 'alice', '--groups', 'dev', '--route', '/acme/one/mcp'];
  const made = await run('token', words);
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stdout, /^[\w-]+\.[\w-]+\.[\w-]+\n$/);
  folder.write('lockkeeper.yaml', config({ audience: ', audience: "${env:AUDIENCE}"' }));
  assert.match(
    (await run('token', words)).stderr,
    /^lockkeeper\.yaml:7:\d+: the environment variable AUDIENCE is not set/,
  );
  folder.write('lockkeeper.yaml', config());
});

test('what is wrong with the file itself is said all the same', async () => {
  folder.write('lockkeeper.yaml', config().replace('${env:KEY}', '${vault:KEY}').replace('server: one', 'server: two'));
  const { code, stderr } = await run('pool', ['list']);
  assert.equal(code, 1);
  assert.match(stderr, /^lockkeeper\.yaml:10:\d+: \$\{vault… is no reference/m);
  assert.match(stderr, /^lockkeeper\.yaml:12:\d+: .*"two"/m);
});

for (const name of ['pool', 'token']) {
  test(`npm run ${name} -- --help says how it is used, and that is no failure`, async () => {
    for (const flag of ['--help', '-h']) {
      const { code, stdout, stderr } = await run(name, [flag]);
      assert.deepEqual([code, stderr], [0, '']);
      assert.match(stdout, new RegExp(`^usage: npm run ${name} -- `));
    }
  });
}

test('a mistyped option of pool is named, with how it is used', async () => {
  const { code, stderr } = await run('pool', ['list', '--jsn']);
  assert.equal(code, 1);
  assert.match(stderr, /'--jsn'.*\nusage: npm run pool -- list/s);
});
