// What does the operator read when the configuration is wrong? Each kind of fault with its place and its sentence.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError } from '../../src/config/faults.ts';
import { loadConfig } from '../../src/config/load.ts';
import { faultsOf, folder, http, type Row, tellFaults, unmarked, useFolder } from './bad-file.ts';
import { openConfig, SAMPLE } from './sample.ts';

const KEY = '0123456789abcdef0123456789abcdef';
const issuer = (members: string, more = '') =>
  `auth: { mode: jwt, issuers: [§{ issuer: i, ${members} }] }
tenants: [{ name: acme }, { name: other }]
servers: [{ name: one, tenant: acme, stdio: { command: node } }]
routes: [{ path: /acme/mcp, tenant: acme, server: one }]
${more}`;
/** The mark of `issuer` is for faults of the whole issuer only. */
const inIssuer = (members: string, more = '') => issuer(members, more).replace('[§{', '[{');
const server = (more: string) => openConfig().replace('stdio: {', `${more}, stdio: {`);
const stdio = (more: string) => openConfig().replace('command: node', more);
const route = (members: string) => openConfig().replace('path: /acme/mcp, tenant: acme, server: one', members);

const rule = (members: string) => openConfig(`policy:\n  - { ${members} }\n`);
const ALLOW = 'allow: [{ server: one }]';

const ROWS: readonly Row[] = [
  ['an empty file', '§', /empty/],
  ['a list instead of settings', '§- a\n', /must be a map/],
  ['broken YAML', `${openConfig()}limits: { holdMs: 1\n§`, /not valid YAML/],
  ['a second document', `${openConfig()}§---\na: 1\n`, /second document/],
  ['the same key twice', `${openConfig()}§auth: { mode: open }\n`, /stands here twice/],
  ['an alias without anchor', `§${openConfig()}log: *nowhere\n`, /alias names no anchor/],
  [
    'everything is missing',
    '§§§§log: { level: info }\n',
    /^auth is missing: add it\. Who may call/,
    /^tenants is missing/,
    /^servers is missing/,
    /^routes is missing/,
  ],
  ['an unknown key', openConfig('§lisen: { port: 1 }\n'), /unknown key "lisen": did you mean listen\?/],
  ['an unknown key deep inside', openConfig('listen:\n  host: ::1\n  §prot: 1\n'), /"prot": did you mean port\?/],
  ['an unknown key like no other', openConfig('log: { §colour: red }\n'), /unknown key "colour": known here: level/],
  ['a key that would reach into objects', openConfig('§"__proto__": { x: 1 }\n'), /unknown key "__proto__"/],
  ['a missing key', openConfig().replace('{ name: one, ', '§{ '), /^servers\[0\]\.name is missing/],
  ['text for a number', openConfig('listen: { port: §"80" }\n'), /must be a whole number, without quotes/],
  ['a number for text', server('era: §1'), /must be text: put quotes around it/],
  ['a number in env', stdio('command: a, env: { N: §1 }'), /^servers\[0\]\.stdio\.env\.N must be text: put quotes/],
  ['a map for a list', openConfig().replace('[{ name: acme }]', '§{ name: acme }'), /must be a list/],
  ['nothing for a map', openConfig('listen:§\n'), /must be a map and is empty/],
  ['a fraction', openConfig('listen: { port: §80.5 }\n'), /must be a whole number/],
  ['too large a number', openConfig('listen: { port: §70000 }\n'), /listen\.port must be 65535 or less/],
  ['too small a number', openConfig('limits: { keepAliveMs: §1 }\n'), /must be 1000 or more/],
  ['a word that is no choice', openConfig('log: { level: §loud }\n'), /must be one of fatal, error/],
  ['an empty text', stdio('command: §""'), /must not be empty/],
  ['an empty list', openConfig().replace('[{ name: acme }]', '§[]'), /must have an entry at least/],
  ['an odd tenant name', openConfig().replaceAll(' acme', ' §"A Inc"'), /lower-case/, /lower-case/, /lower-case/],
  ['an odd server name', openConfig().replaceAll('one', '§a/b'), /use letters/, /use letters/],
  ['an odd variable name', stdio('command: a, env: { §"A-B": x }'), /this name is not possible here: use letters/],
  ['an odd state', openConfig('state: §postgres://x\n'), /give memory, redis:\/\/host:port or rediss:/],
  ['an odd base URL', openConfig('publicBaseUrl: §mcp.example\n'), /give an http or https URL/],
  ['an odd origin', openConfig('listen: { allowedOrigins: [§"https://a/b"] }\n'), /without a path/],
  ['a short link secret', openConfig('link: { secret: §abc }\n'), /32 characters or more/],
  ['a group for everyone', rule(`tenant: acme, groups: [§"*"], ${ALLOW}`), /none that means everyone/],
  // Names
  [
    'a tenant that is not there, in a server',
    openConfig().replace('tenant: acme, stdio', 'tenant: §amce, stdio').replace('server: one', 'server: §one'),
    /no tenant "amce": add it under tenants, or use "acme"/,
    /tenant "acme" has no server "one" \(another tenant has one\)/,
  ],
  [
    'a tenant that is not there, in a route',
    route('path: /a/mcp, tenant: §x, server: §one'),
    /no tenant "x"/,
    /tenant "x" has no server "one"/,
  ],
  [
    'a tenant that is not there, in a policy',
    rule('tenant: §gone, groups: [g], allow: [{ server: §one }]'),
    /no tenant "gone"/,
    /tenant "gone" has no server "one"/,
  ],
  [
    'a tenant that is not there, in an issuer',
    inIssuer('jwksFile: jwks.json, tenants: [§gone]'),
    /no tenant "gone": add it under tenants, or use "acme", "other"/,
  ],
  [
    'a server that is not there, in a route',
    route('path: /a/mcp, tenant: acme, server: §two'),
    /tenant "acme" has no server "two": add it under servers, or use "one"/,
  ],
  [
    'a server that is not there, in an aggregate',
    route('path: /a/mcp, tenant: acme, servers: [one, §two]'),
    /tenant "acme" has no server "two"/,
  ],
  [
    'a server that is not there, in a policy',
    rule('tenant: acme, groups: [g], allow: [{ server: one }, { server: §two }]'),
    /tenant "acme" has no server "two"/,
  ],
  [
    'a tenant twice',
    openConfig().replace('[{ name: acme }]', '[{ name: acme }, { name: §acme }]'),
    /two tenants have the name "acme"/,
  ],
  [
    'a server twice in a tenant',
    openConfig().replace(
      /servers: .*/,
      'servers:\n  - { name: one, tenant: acme, stdio: { command: a } }\n  - { name: §one, tenant: acme, stdio: { command: b } }',
    ),
    /two servers of one tenant have the name "one"/,
  ],
  [
    'an issuer twice',
    inIssuer('jwksFile: jwks.json, tenants: [acme] }, { issuer: §i, jwksFile: jwks.json, tenants: [other]'),
    /two issuers have the issuer "i"/,
  ],
  [
    'a policy name twice',
    rule(`name: p, tenant: acme, groups: [g], ${ALLOW} }\n  - { name: §p, tenant: acme, groups: [h], ${ALLOW}`),
    /two policy rules have the name "p"/,
  ],
  // Routes
  [
    'a path twice',
    route('path: /a/mcp, tenant: acme, server: one }, { path: §/a/mcp, tenant: acme, server: one'),
    /two routes have the path "\/a\/mcp"/,
  ],
  ['a path that does not end in /mcp', route('path: §/acme, tenant: acme, server: one'), /ends in \/mcp/],
  ['a path with a slash at its end', route('path: §/acme/mcp/, tenant: acme, server: one'), /ends in \/mcp/],
  ['a path with dots', route('path: §/.well-known/mcp, tenant: acme, server: one'), /begins with a dot/],
  [
    'plain /mcp beside another route',
    route('path: §/mcp, tenant: acme, server: one }, { path: /a/mcp, tenant: acme, server: one'),
    /plain \/mcp is possible only for the only route/,
  ],
  [
    'plain /mcp with two tenants',
    openConfig().replace('/acme/mcp', '§/mcp').replace('[{ name: acme }]', '[{ name: acme }, { name: b }]'),
    /plain \/mcp is possible only/,
  ],
  [
    'a route to one and to several',
    openConfig().replace('[{ path', '[§{ path').replace('server: one', 'server: one, servers: [one]'),
    /^routes\[0\] has too many or too few of its keys: give either server/,
  ],
  [
    'a route to nothing',
    openConfig().replace('[{ path', '[§{ path').replace(', server: one', ''),
    /give either server/,
  ],
  [
    'a server twice in a route',
    route('path: /a/mcp, tenant: acme, servers: §[one, one]'),
    /same entry twice \(1 and 2\)/,
  ],
  [
    'sse without its revision',
    route('path: /a/mcp, tenant: acme, server: one, revisions: ["2025-11-25"], sse: §true'),
    /sse is the transport of revision 2024-11-05/,
  ],
  [
    'a modern revision among the legacy ones',
    route('path: /a/mcp, tenant: acme, server: one, revisions: [§"2026-07-28"]'),
    /must be one of 2025-11-25/,
  ],
  // Who may call
  [
    'open beyond loopback',
    openConfig('publicBaseUrl: http://a\nlisten: { host: §0.0.0.0 }\n'),
    /listen\.host "0\.0\.0\.0" is not loopback.*Set 127\.0\.0\.1, or auth\.mode: jwt/,
  ],
  [
    'open on a name that only looks like loopback',
    openConfig('publicBaseUrl: http://a\nlisten: { host: §127.0.0.1.example }\n'),
    /is not loopback/,
  ],
  [
    'open with issuers',
    openConfig().replace('mode: open', 'mode: open, §issuers: [{ issuer: i, jwksFile: jwks.json, tenants: [acme] }]'),
    /nobody is asked for a token in open mode/,
  ],
  ['jwt without issuers', openConfig().replace('mode: open', 'mode: §jwt'), /mode jwt needs issuers/],
  ['jwt with no issuer', openConfig().replace('mode: open', 'mode: jwt, issuers: §[]'), /an entry at least/],
  ['an unknown mode', openConfig().replace('mode: open', 'mode: §off'), /must be one of jwt, open/],
  [
    'several tenants without a tenant claim',
    inIssuer('jwksFile: jwks.json, §tenants: [acme, other]'),
    /without a tenant claim an issuer must name exactly one tenant/,
  ],
  ['an issuer without keys', issuer('tenants: [acme]'), /give either jwksFile or jwksUri/],
  [
    'an issuer with two sources of keys',
    issuer('tenants: [acme], jwksFile: jwks.json, jwksUri: "https://a/b"'),
    /give either jwksFile or jwksUri/,
  ],
  ['keys over http', inIssuer('tenants: [acme], jwksUri: §"http://idp.example/jwks"'), /keys must come over https/],
  ['a key file that is not there', inIssuer('tenants: [acme], jwksFile: §no.json'), /"no.json" does not exist/],
  ['a key file that is none', inIssuer('tenants: [acme], jwksFile: §lockkeeper.yaml'), /is not JSON/],
  [
    'a shared secret as algorithm',
    inIssuer('tenants: [acme], jwksFile: jwks.json, algorithms: [§HS256]'),
    /must be one of ES256/,
  ],
  // Pairs
  ['keepsNothing without exclusive', server('keepsNothing: §true'), /set isolation: exclusive/],
  [
    'a shared server that asks',
    server('isolation: shared, ask: { roots: never, sampling: §caller }'),
    /a shared server cannot ask/,
  ],
  ['more warm than there may be', server('pool: { max: 1, minWarm: §2 }'), /more than pool\.max/],
  ['several nodes for what has one place', server('isolation: user, pool: { nodes: §2 }'), /is for shared servers/],
  ['more warm than the default', server('pool: { minWarm: §9 }'), /more than pool\.max/],
  ['a hard cap below the other', server('pool: { maxMemoryMb: 9, hardMemoryMb: §8 }'), /less than pool\.maxMemoryMb/],
  ['a hard cap below the default', server('pool: { hardMemoryMb: §8 }'), /less than pool\.maxMemoryMb/],
  ['a group without a user', stdio('command: node, gid: §5'), /a gid needs a uid/],
  ['root as the user', stdio('command: node, uid: §0'), /must be 1 or more/],
  ['an unknown limit', stdio('command: node, limits: { §nofile: 5 }'), /known here: openFiles, processes/],
  ['a short admin token', openConfig('listen: { adminToken: §short }\n'), /16 characters or more/],
  ['a relative cgroup', openConfig('children: { cgroup: §x }\n'), /auto, off, or the absolute path/],
  // Told where the key would stand: the file leaves it to the default.
  ['one port for two', openConfig('listen: §{ port: 9090 }\n'), /listen\.port and listen\.adminPort are the same/],
  ['one link port for two', openConfig('link: { port: 1, adminPort: §1 }\n'), /link\.port and link\.adminPort/],
  [
    'beyond loopback without a public name',
    inIssuer('jwksFile: jwks.json, tenants: [acme]', 'listen: { host: §0.0.0.0 }\n'),
    /needs publicBaseUrl/,
  ],
  [
    'a session that idles longer than it lives',
    openConfig('limits: { sessionIdleMs: §2000, sessionMaxMs: 1000 }\n'),
    /sessionIdleMs is more than/,
  ],
  [
    'a seal key twice, and none to seal with',
    openConfig(`seal:\n  keys: [{ kid: a, key: ${KEY} }, { kid: §a, key: ${KEY} }]\n  sealWith: §b\n`),
    /two seal keys have the kid "a"/,
    /no key under seal\.keys has this kid/,
  ],
  // References
  ['a variable that is not set', openConfig('state: §"redis://${env:NOT_SET}@h"\n'), /variable NOT_SET is not set/],
  ['a variable without a name', openConfig('state: §"${env:}"\n'), /needs the name of an environment variable/],
  ['a file that is not there', openConfig('link: { secret: §"${file:./gone}" }\n'), /file \.\/gone does not exist/],
  ...[
    '${vault:x}',
    '${ENV:x}',
    '${Env:x}',
    '${secret-store:x}',
    '${ env:x }',
    '${env.X}',
    '${env:X',
    '${file:a{b}}',
  ].map(
    (text): Row => [
      `${text} for a reference`,
      openConfig(`link: { secret: §"0123456789abcdef ${text}" }\n`),
      /is no reference: write \$\{env:NAME\} or \$\{file:path\}, or \$\$\{ for a plain \$\{$/,
    ],
  ),
  ['a folder for a file', openConfig('link: { secret: §"${file:.}" }\n'), /\. is not a file/],
];

useFolder();
tellFaults(ROWS);

test('all faults are told at once, in the order of the file', () => {
  const { text, places } = unmarked(
    SAMPLE.replace('port: 8080', 'port: 8080, §prot: 1')
      .replace('./jwks.json', '§./no.json')
      .replace('tenants: [acme]', 'tenants: [§acne]')
      .replace('command: node,', 'command: node, §env2: {},')
      .replace('isolation: user', 'isolation: §users')
      .replace('server: everything, tools', 'server: §nothing, tools')
      .replace('path: /acme/mcp', 'path: §/acme'),
  );
  assert.equal(places.length, 7);
  const faults = faultsOf(text);
  assert.deepEqual(
    faults.map(({ line, column }) => `${line}:${column}`),
    places,
  );
  const file = folder.file('lockkeeper.yaml');
  assert.throws(
    () => loadConfig(file, {}),
    (error) => error instanceof Error && error.message.split('\n')[0] === `${file}:1:40: ${faults[0]!.words}`,
  );
});

test('a file that is not there, or is no text, is told by its name', () => {
  assert.throws(
    () => loadConfig('/nowhere/lockkeeper.yaml', {}),
    (error) => error instanceof ConfigError && /^\/nowhere\/lockkeeper\.yaml:1:1: .*does not exist/.test(error.message),
  );
  const file = folder.write('binary.yaml', '');
  folder.write('latin', '');
  assert.throws(() => loadConfig(folder.path, {}), /cannot be read/);
  assert.throws(() => loadConfig(file, {}), /the file is empty/);
});

test('values that came from a reference are in no sentence', () => {
  const env = { SECRET: 's3cret' };
  const texts = [
    openConfig('listen: { host: "${env:SECRET}" }\nlog: { level: "${env:SECRET}" }\n'),
    openConfig('state: "${env:SECRET}"\npublicBaseUrl: "${env:SECRET}"\nlink: { secret: "${env:SECRET}" }\n'),
    openConfig().replace('server: one', 'server: "${env:SECRET}"'),
    openConfig().replaceAll('acme', '"${env:SECRET}"'),
    inIssuer('tenants: ["${env:SECRET}"], jwksFile: "${env:SECRET}", algorithms: ["${env:SECRET}"]'),
    http('url: "https://a/${env:SECRET}", headers: { Host: "${env:SECRET}" }, cidrs: ["${env:SECRET}"]'),
    http('url: "${env:SECRET}", ca: "${env:SECRET}", credential: "${env:SECRET}"'),
  ];
  for (const text of texts) {
    const faults = faultsOf(text, env);
    assert.ok(faults.length > 0);
    assert.doesNotMatch(JSON.stringify(faults), /s3cret/);
  }
});

test('a line of broken YAML is not quoted', () => {
  for (const text of ['link: { secret: "s3cret value\n  foo: [\n', 'a: s3cret: s3cret\n', 'link: !s3cret x\n']) {
    const faults = faultsOf(text);
    assert.ok(faults.length > 0);
    assert.doesNotMatch(JSON.stringify(faults), /s3cret/);
  }
});
