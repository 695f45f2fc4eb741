// What do services see of a configuration that is right?

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { type Folder, makeFolder, openConfig, SAMPLE } from './sample.ts';

let folder: Folder;
before(() => {
  folder = makeFolder({ 'jwks.json': '{"keys":[]}' });
});
after(() => folder.remove());

function load(text: string, env: Record<string, string> = {}) {
  return loadConfig(folder.write('lockkeeper.yaml', text), env);
}

test('the sample loads, with memory and with Redis', () => {
  const memory = load(SAMPLE);
  assert.deepEqual(memory.state, { kind: 'memory' });
  for (const url of ['redis://127.0.0.1:6379', 'redis://user:pw@redis:6379/2', 'rediss://redis.example:6380']) {
    const redis = load(SAMPLE.replace(/state: memory.*/, `state: ${url}`));
    assert.deepEqual(redis.state, { kind: 'redis', url });
    assert.notEqual(redis.version, memory.version);
  }
});

test('the sample means what it says', () => {
  const snapshot = load(SAMPLE);
  assert.equal(snapshot.publicBaseUrl, 'http://127.0.0.1:8080');
  assert.deepEqual(snapshot.auth, {
    mode: 'jwt',
    issuers: [
      {
        issuer: 'https://idp.example',
        tenants: ['acme'],
        claims: { subject: 'sub', tenant: 'tenant', groups: 'groups', client: 'client_id' },
        algorithms: ['ES256', 'EdDSA', 'RS256', 'PS256'],
        jwks: { file: folder.file('jwks.json') },
      },
    ],
  });
  assert.deepEqual([...snapshot.tenants], [['acme', { name: 'acme' }]]);
  const server = snapshot.servers.get('acme/everything');
  assert.ok(server);
  assert.match(server.digest, /^[0-9a-f]{64}$/);
  assert.deepEqual(
    { ...server, digest: '' },
    {
      name: 'everything',
      tenant: 'acme',
      stdio: { command: 'node', args: ['./server.js'], env: { FOO: 'bar' }, cwd: folder.path },
      isolation: 'user',
      keepsNothing: false,
      ask: { roots: 'caller', sampling: 'caller', elicitation: 'caller' },
      pool: { max: 8, minWarm: 0, idleMs: 300000, maxAgeMs: 86400000, maxUses: 1000000 },
      era: 'auto',
      startTimeoutMs: 30000,
      callTimeoutMs: 300000,
      digest: '',
    },
  );
  assert.deepEqual(snapshot.policy, [
    {
      name: 'policy[0]',
      tenant: 'acme',
      groups: ['dev'],
      allow: [{ server: 'everything', tools: ['*'], prompts: ['*'], resources: ['*'] }],
    },
  ]);
  const revisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
  const common = {
    tenant: 'acme',
    servers: ['everything'],
    revisions,
    sse: true,
    closeStreamsAfterMs: 0,
    tasks: true,
    legacyTasks: false,
  };
  assert.deepEqual(snapshot.routes, [
    { path: '/acme/everything/mcp', ...common, aggregate: false },
    { path: '/acme/mcp', ...common, aggregate: true },
  ]);
});

test('the least file has a default for everything else', () => {
  const snapshot = load(openConfig());
  assert.deepEqual(snapshot.listen, {
    host: '127.0.0.1',
    port: 8080,
    adminHost: '127.0.0.1',
    adminPort: 9090,
    allowedHosts: [],
    allowedOrigins: [],
    trustProxy: false,
  });
  assert.equal(snapshot.publicBaseUrl, 'http://127.0.0.1:8080');
  assert.deepEqual(snapshot.state, { kind: 'memory' });
  assert.deepEqual(snapshot.auth, { mode: 'open' });
  assert.deepEqual(snapshot.policy, []);
  assert.deepEqual(snapshot.link, { host: '127.0.0.1', port: 9180, adminPort: 9190 });
  assert.equal(snapshot.seal, undefined);
  assert.deepEqual(snapshot.log, { level: 'info' });
  assert.deepEqual(snapshot.children, { cgroup: 'auto' });
  assert.deepEqual(snapshot.limits, {
    maxBodyBytes: 4194304,
    maxLineBytes: 16777216,
    maxResultBytes: 16777216,
    maxLinesPerSecond: 50000,
    maxBytesPerSecond: 536870912,
    maxBatch: 100,
    maxDepth: 128,
    maxPerServer: 64,
    maxPerTenant: 128,
    maxPerNode: 256,
    maxSessionsPerPrincipal: 1000,
    sessionIdleMs: 1800000,
    sessionMaxMs: 86400000,
    queueMs: 30000,
    maxQueue: 1000,
    keepAliveMs: 15000,
    holdMs: 250,
    maxInFlightPerPrincipal: 1024,
    pageSize: 1000,
    listTtlMs: 60000,
    promoteAfterMs: 30000,
    taskTtlMs: 3600000,
    drainMs: 30000,
    drainHumanMs: 630000,
    drainLeadMs: 2000,
    humanMs: 600000,
    maxParkedPerPrincipal: 100,
    maxParkedPerServer: 1000,
    aggregateWaitMs: 5000,
  });
});

test('a file with everything in it loads', () => {
  const snapshot = load(
    `listen: { host: 0.0.0.0, port: 80, adminHost: 0.0.0.0, adminPort: 9, allowedHosts: ["mcp.example:8443"], allowedOrigins: ["https://app.example"], trustProxy: true }
publicBaseUrl: https://mcp.example/base/
state: rediss://redis:6379
auth:
  mode: jwt
  issuers:
    - { issuer: a, jwksUri: "https://a.example/jwks", tenants: [acme, other], claims: { tenant: realm.tenant }, audience: aud, algorithms: [RS256], clients: [cli], scopes: [mcp] }
    - { issuer: b, jwksUri: "http://127.0.0.1:1/jwks", tenants: [other] }
tenants: [{ name: acme }, { name: other }]
servers:
  - name: one
    tenant: acme
    stdio: { command: ./run, args: ["--x", ""], env: { A_1: "" }, cwd: sub/dir }
    isolation: exclusive
    keepsNothing: true
    ask: { sampling: never }
    pool: { max: 2, minWarm: 2, idleMs: 1000, maxAgeMs: 2000, maxUses: 3 }
    era: legacy
    startTimeoutMs: 1000
    callTimeoutMs: 2000
  - { name: one, tenant: other, stdio: { command: x }, isolation: shared }
policy:
  - { name: devs, tenant: other, groups: [g], allow: [{ server: one, tools: [a] }] }
routes:
  - { path: /a/mcp, tenant: acme, server: one, revisions: [2025-11-25], sse: false }
  - { path: /a/b.c/mcp, tenant: other, servers: [one], revisions: [], closeStreamsAfterMs: 50 }
limits: { maxBodyBytes: 1024, holdMs: 0 }
link: { host: 0.0.0.0, port: 1, advertise: "10.0.0.1:1", adminPort: 2, secret: 0123456789abcdef0123456789abcdef }
seal: { keys: [{ kid: k1, key: 0123456789abcdef0123456789abcdef }], sealWith: k1 }
log: { level: debug }
`,
  );
  assert.equal(snapshot.publicBaseUrl, 'https://mcp.example/base');
  assert.deepEqual(
    snapshot.routes.map((r) => r.closeStreamsAfterMs),
    [0, 50],
  );
  assert.equal(snapshot.auth.mode === 'jwt' && snapshot.auth.issuers[0]?.claims.tenant, 'realm.tenant');
  assert.equal(snapshot.auth.mode === 'jwt' && snapshot.auth.issuers[1]?.claims.tenant, '');
  assert.deepEqual(snapshot.auth.mode === 'jwt' && snapshot.auth.issuers[1]?.jwks, { uri: 'http://127.0.0.1:1/jwks' });
  assert.equal(snapshot.servers.get('acme/one')?.stdio?.cwd, folder.file('sub/dir'));
  assert.deepEqual(snapshot.servers.get('acme/one')?.ask, {
    roots: 'caller',
    sampling: 'never',
    elicitation: 'caller',
  });
  assert.deepEqual(snapshot.policy[0]?.allow[0], { server: 'one', tools: ['a'], prompts: [], resources: [] });
  assert.deepEqual(
    snapshot.routes.map((route) => route.sse),
    [false, false],
  );
  assert.equal(snapshot.limits.maxBodyBytes, 1024);
  assert.equal(snapshot.limits.maxBatch, 100);
  assert.equal(snapshot.seal?.sealWith, 'k1');
});

test('a process has its private directory as working directory, a user and limits where the file says so', () => {
  const stdio = 'command: node, cwd: "~", uid: 1001, limits: { openFiles: 64, processes: 8, cpuSeconds: 60 }';
  const spec = load(openConfig().replace('command: node', stdio)).servers.get('acme/one')!;
  assert.equal(spec.stdio?.cwd, '~');
  assert.equal(spec.stdio?.uid, 1001);
  assert.deepEqual(spec.stdio?.limits, { openFiles: 64, processes: 8, cpuSeconds: 60 });
});

test('a shared server asks nobody', () => {
  const snapshot = load(openConfig().replace('stdio:', 'isolation: shared, stdio:'));
  assert.deepEqual(snapshot.servers.get('acme/one')?.ask, { roots: 'never', sampling: 'never', elicitation: 'never' });
});

test('plain /mcp may be the only route of the only tenant', () => {
  assert.equal(load(openConfig().replace('/acme/mcp', '/mcp')).routes[0]?.path, '/mcp');
});

test('a snapshot cannot be changed', () => {
  const snapshot = load(SAMPLE);
  const frozen = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    assert.ok(value instanceof Map || Object.isFrozen(value));
    for (const inner of value instanceof Map ? value.values() : Object.values(value)) frozen(inner);
  };
  frozen(snapshot);
});

test('references stand for the environment and for files, anywhere in a text', () => {
  folder.write('secrets/token', 'from a file\n');
  folder.write('secrets/many', 'two\nlines\n\n');
  const text = openConfig().replace(
    'command: node',
    () =>
      `command: node, args: ["--a=\${env:A}-\${env:B}", "\${file:secrets/many}", "$\${env:A}", "\${HOME}"], env: { T: "\${file:./secrets/token}", E: "\${env:EMPTY}" }`,
  );
  const { stdio } = load(text, { A: 'x', B: 'y', EMPTY: '' }).servers.get('acme/one')!;
  assert.deepEqual(stdio?.args, ['--a=x-y', 'two\nlines\n', '${env:A}', '${HOME}']);
  assert.deepEqual(stdio?.env, { T: 'from a file', E: '' });
});

test('`$${` is a plain `${`, and what a shell would read passes as it is', () => {
  const written = [
    '$${vault:x}',
    '$${HOME}',
    '$${',
    '${HOME}',
    '${HOME:-/}',
    '${X:?gone}',
    '${',
    '$HOME',
    '$$',
    '{env:A}',
  ];
  const text = openConfig().replace('command: node', () => `command: node, args: ${JSON.stringify(written)}`);
  assert.deepEqual(load(text).servers.get('acme/one')!.stdio?.args, [
    ...['${vault:x}', '${HOME}', '${', '${HOME}', '${HOME:-/}', '${X:?gone}', '${', '$HOME', '$$', '{env:A}'],
  ]);
});

test('anchors and aliases work', () => {
  const text = openConfig()
    .replace('stdio: { command: node }', 'stdio: &s { command: node, args: [a] }')
    .replace('servers: [', 'servers: [ ')
    .replace(/\}\]\nroutes/, '}, { name: two, tenant: acme, stdio: *s }]\nroutes');
  assert.deepEqual(load(text).servers.get('acme/two')?.stdio?.args, ['a']);
});

test('a server by URL gets what its file says, with the headers of its credential, and defaults', () => {
  const text = openConfig()
    .replace(
      'stdio: { command: node }',
      'http: { url: "HTTPS://MCP.example.com:443/mcp", credential: gh, headers: { X-Team: a } }',
    )
    .replace(
      '{ name: acme }',
      '{ name: acme, credentials: { gh: { Authorization: "Bearer ${env:GH}" }, no: { X-No: "1" } } }',
    );
  const snapshot = load(text, { GH: 'secret' });
  const spec = snapshot.servers.get('acme/one')!;
  assert.equal(spec.stdio, undefined);
  assert.deepEqual(spec.http, {
    url: 'https://mcp.example.com/mcp',
    transport: 'auto',
    headers: { authorization: 'Bearer secret', 'x-team': 'a' },
    plain: false,
    cidrs: [],
    maxConnections: 128,
    maxSessions: 1024,
    connectMs: 5_000,
    headersMs: 60_000,
    idleStreamMs: 300_000,
    maxHeaderBytes: 32_768,
  });
  assert.doesNotMatch(JSON.stringify([...snapshot.tenants]), /secret/);
});
