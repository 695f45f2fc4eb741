// Does a desktop client's mcpServers file become a configuration that loads, without its secrets?

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/config/load.ts';
import { looksSecret } from '../../src/import/secrets.ts';
import { makeFolder } from '../config/sample.ts';

const CLI = fileURLToPath(new URL('../../src/cli/import.ts', import.meta.url));
const folder = makeFolder();
after(() => folder.remove());

function run(file: unknown, ...args: string[]) {
  const path = folder.write('claude.json', typeof file === 'string' ? file : JSON.stringify(file));
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, path, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr, load: (env = {}) => loadConfig(folder.write('out.yaml', stdout), env) };
}

test('a plain file becomes one route a server and one for all', () => {
  const { status, stderr, load } = run({
    mcpServers: {
      everything: { command: 'node', args: ['server.js', '--flag', 5], env: { FOO: 'bar', N: 1 }, cwd: 'sub' },
      memory: { command: 'mcp-memory' },
    },
  });
  assert.equal(status, 0, stderr);
  assert.equal(stderr, '');
  const snapshot = load();
  assert.deepEqual(snapshot.auth, { mode: 'open' });
  assert.deepEqual([...snapshot.servers.keys()], ['acme/everything', 'acme/memory']);
  assert.deepEqual(snapshot.servers.get('acme/everything')!.stdio, {
    command: 'node',
    args: ['server.js', '--flag', '5'],
    env: { FOO: 'bar', N: '1' },
    cwd: folder.file('sub'),
  });
  assert.deepEqual(
    snapshot.routes.map(({ path, servers, aggregate }) => [path, servers, aggregate]),
    [
      ['/acme/everything/mcp', ['everything'], false],
      ['/acme/memory/mcp', ['memory'], false],
      ['/acme/mcp', ['everything', 'memory'], true],
    ],
  );
});

test('--tenant names the tenant, --out writes a new file and never an old one', () => {
  const file = { mcpServers: { a: { command: 'x' } } };
  const out = folder.file('new.yaml');
  const first = run(file, '--tenant', 'team-1', '--out', out);
  assert.equal(first.status, 0, first.stderr);
  assert.equal(first.stdout, '');
  assert.ok(loadConfig(out, {}).servers.has('team-1/a'));
  const before = readFileSync(out, 'utf8');
  const again = run(file, '--out', out);
  assert.equal(again.status, 1);
  assert.match(again.stderr, /exists: name another file/);
  assert.equal(readFileSync(out, 'utf8'), before);
  assert.equal(run(file, '--tenant', 'Bad Tenant').status, 1);
});

test('secrets become references, with a list of what to set, and are printed nowhere', () => {
  const secrets = ['ghp_abcdefghij0123456789', 'hunter2', 'postgres://u:p4ss@db/x', 'sk-live-1', 'argsecret9'];
  const { status, stdout, stderr, load } = run({
    mcpServers: {
      github: { command: 'gh-mcp', env: { GITHUB_TOKEN: secrets[0], LOG_LEVEL: 'info', PORT: '8080' } },
      db: { command: 'db-mcp', args: [secrets[2], '--password', secrets[1], `--api-key=${secrets[4]}`, '--verbose'] },
      one: { command: 'x', env: { API_KEY: secrets[3] } },
      two: { command: 'x', env: { API_KEY: 'sk-live-2' } },
      three: { command: 'x', env: { API_KEY: secrets[3] } },
    },
  });
  assert.equal(status, 0, stderr);
  for (const secret of [...secrets, 'p4ss', 'sk-live-2']) assert.ok(!(stdout + stderr).includes(secret), secret);
  const env = {
    GITHUB_TOKEN: secrets[0],
    ARG_1: secrets[2],
    PASSWORD: secrets[1],
    API_KEY_: '',
    API_KEY: secrets[4],
    ONE_API_KEY: secrets[3],
    TWO_API_KEY: 'sk-live-2',
  };
  for (const name of ['GITHUB_TOKEN', 'ARG_1', 'PASSWORD', 'API_KEY', 'ONE_API_KEY', 'TWO_API_KEY']) {
    assert.match(stderr, new RegExp(`^set ${name} \\(`, 'm'));
    assert.match(stdout, new RegExp(`^#   ${name}: `, 'm'));
  }
  assert.throws(() => load(), /GITHUB_TOKEN is not set/);
  const { servers } = load(env);
  assert.deepEqual(servers.get('acme/github')!.stdio?.env, {
    GITHUB_TOKEN: secrets[0],
    LOG_LEVEL: 'info',
    PORT: '8080',
  });
  assert.deepEqual(servers.get('acme/db')!.stdio?.args, [
    secrets[2],
    '--password',
    secrets[1],
    `--api-key=${secrets[4]}`,
    '--verbose',
  ]);
  assert.equal(servers.get('acme/one')!.stdio?.env.API_KEY, secrets[3]);
  assert.equal(servers.get('acme/two')!.stdio?.env.API_KEY, 'sk-live-2');
  assert.equal(servers.get('acme/three')!.stdio?.env.API_KEY, secrets[3]);
  assert.match(stderr, /db: argument 1 looks like a secret/);
});

test('references of other clients become ours, and what only looks like ours stays text', () => {
  const { status, stderr, stdout, load } = run({
    servers: {
      vs: {
        type: 'stdio',
        command: 'x',
        args: ['${env:A_PATH}', '${PLAIN}', '${workspaceFolder}', '$5', '${command:pick}'],
        env: { K: '${input:my-key}', D: '${WITH:-default}' },
      },
    },
  });
  assert.equal(status, 0, stderr);
  assert.match(stderr, /WITH had a default there/);
  for (const name of ['A_PATH', 'PLAIN', 'MY_KEY', 'WITH']) assert.match(stderr, new RegExp(`^set ${name} `, 'm'));
  assert.doesNotMatch(stdout, /input:/);
  const { stdio } = load({ A_PATH: 'a', PLAIN: 'b', MY_KEY: 'c', WITH: 'd' }).servers.get('acme/vs')!;
  assert.deepEqual(stdio?.args, ['a', 'b', '${workspaceFolder}', '$5', '${command:pick}']);
  assert.deepEqual(stdio?.env, { K: 'c', D: 'd' });
});

test('what cannot be taken over is said in words, the rest is taken', () => {
  const { status, stderr, load } = run({
    mcpServers: {
      secret: { url: 'https://mcp.example.com/sse?key=hunter2', headers: { Authorization: 'Bearer x' } },
      user: { url: 'https://me:hunter2@mcp.example.com/mcp' },
      plain: { url: 'http://mcp.intern/mcp' },
      sock: { url: 'wss://mcp.example.com/mcp' },
      filled: { url: 'https://mcp.example.com/${KEY}/mcp' },
      typed: { type: 'http', url: 'not a url' },
      off: { command: 'x', disabled: true },
      empty: {},
      odd: { command: 'x', args: 'a b' },
      'My Server!': { command: 'npx', args: ['-y', 'pkg'], alwaysAllow: ['a'] },
      'my-server': { command: 'x' },
    },
  });
  assert.equal(status, 0, stderr);
  assert.match(stderr, /secret: left out, its URL seems to hold a secret/);
  assert.match(stderr, /user: left out, its URL holds a user or password/);
  assert.match(stderr, /plain: left out, its URL is http:\/\/ to a name: add it by hand/);
  assert.match(stderr, /sock: left out, its URL must be a whole URL/);
  assert.match(stderr, /filled: left out, its URL holds a reference/);
  assert.match(stderr, /typed: left out, it is a remote server without a usable URL/);
  assert.match(stderr, /off: left out, it is disabled/);
  assert.match(stderr, /empty: left out, it has no command/);
  assert.match(stderr, /odd: left out, its args/);
  assert.match(stderr, /My Server!: is called My-Server here/);
  assert.match(stderr, /My Server!: not taken over: alwaysAllow/);
  assert.match(stderr, /My Server!: started by a package runner/);
  assert.doesNotMatch(stderr, /hunter2|Bearer/);
  assert.deepEqual([...load().servers.keys()], ['acme/My-Server', 'acme/my-server']);
});

test('servers by URL are taken over, with their headers and where they are', () => {
  const { status, stderr, stdout, load } = run({
    mcpServers: {
      far: {
        type: 'http',
        url: 'https://mcp.example.com/mcp',
        headers: { Authorization: 'Bearer abc', 'X-Team': 'a' },
      },
      old: { type: 'sse', url: 'http://localhost:3001/sse' },
      near: { serverUrl: 'https://10.1.2.3:8443/mcp', headers: { Host: 'x', Authorization: 'Bearer ${input:my-key}' } },
    },
  });
  assert.equal(status, 0, stderr);
  assert.doesNotMatch(stdout + stderr, /abc/);
  assert.match(stderr, /^set AUTHORIZATION \(Authorization of far\)/m);
  assert.match(stderr, /near: not taken over: headers Host/);
  const { servers } = load({ AUTHORIZATION: 'Bearer abc', MY_KEY: 'k' });
  const [far, old, near] = ['far', 'old', 'near'].map((name) => servers.get(`acme/${name}`)!.http!);
  assert.deepEqual(
    [far!.url, far!.headers],
    ['https://mcp.example.com/mcp', { authorization: 'Bearer abc', 'x-team': 'a' }],
  );
  assert.deepEqual([old!.transport, old!.plain, old!.cidrs], ['sse', true, ['127.0.0.0/8', '::1/128']]);
  assert.deepEqual([near!.cidrs, near!.headers], [['10.1.2.3/32'], { authorization: 'Bearer k' }]);
});

test('names that would collide are kept apart', () => {
  const { stderr, load } = run({
    mcpServers: { 'a b': { command: 'x' }, 'a/b': { command: 'y' }, '::': { command: 'z' } },
  });
  assert.deepEqual([...load().servers.keys()], ['acme/a-b', 'acme/a-b-2', 'acme/server']);
  assert.match(stderr, /a\/b: is called a-b-2 here/);
});

test('a file that is none is told in one sentence', () => {
  for (const [file, words] of [
    ['{', /^the file is not JSON .*\n$/],
    ['[]', /^the file has no "mcpServers".*\n$/],
    ['{"mcpServers":{"r":{"url":"ftp://a"}}}', /no server in the file can be taken over/],
  ] as const) {
    const { status, stdout, stderr } = run(file);
    assert.equal(status, 1);
    assert.equal(stdout, '');
    assert.match(stderr, words);
  }
  assert.ok(!existsSync(folder.file('nothing')));
  const { status, stderr } = spawnSync(process.execPath, [CLI, folder.file('nothing')], { encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /cannot be read \(ENOENT\)/);
});

test('what looks like a secret, and what does not', () => {
  const yes = [
    ['API_KEY', 'x'],
    ['OPENAI_APIKEY', 'x'],
    ['DB_PASSWORD', 'x'],
    ['SLACK_BOT_TOKEN', 'x'],
    ['DATABASE_URL', 'x'],
    ['X', 'sk-abc'],
    ['X', 'https://u:p@h/'],
    ['X', 'a1b2c3d4a1b2c3d4a1b2c3d4a1b2c3d4'],
  ];
  const no = [
    ['API_KEY', ''],
    ['USE_TOKEN', 'true'],
    ['TOKEN_LIMIT', '4096'],
    ['HOME', '/home/a'],
    ['KEYBOARD', 'us'],
    ['BASE', 'https://host:8080/path'],
    ['AUTHOR', 'me'],
  ];
  for (const [name, value] of yes) assert.ok(looksSecret(name!, value!), `${name}=${value}`);
  for (const [name, value] of no) assert.ok(!looksSecret(name!, value!), `${name}=${value}`);
});
