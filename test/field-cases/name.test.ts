// Field cases of class NAME: is every name that an aggregate lists one that any client can use, and does it call the tool
// it came from?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { asker, call, ERAS, modernAsker, namesOf, server, textOf } from './stage.ts';

const LONG = 'corp-cloud-infra-mcp-server';
const LONG_TOOLS = [
  'describe_stack_pre_deployment_validation_instructions',
  `${'same-in-the-first-sixty-characters-of-its-name'.padEnd(60, '-')}A`,
  `${'same-in-the-first-sixty-characters-of-its-name'.padEnd(60, '-')}B`,
  'x'.repeat(128),
];
const ODD_TOOLS = ['ns/tool', 'a.b', 'a:b', 'wörk', 'has space', '', 'x'.repeat(129), '_5x', '9t', '-t', 'a.b', 'a_b'];
const VALID_TOOLS = ['_a', '1a', 'A.b-c_d', 'getUser', 'getuser'];

const listing = (names: readonly string[]) =>
  JSON.stringify({ tools: names.map((name) => ({ name, inputSchema: { type: 'object', properties: {} } })) });
/** An alias may need encoding in its header only if it is not safe, which none is. */
const SAFE = /^[A-Za-z0-9_-]{1,64}$/;

let lockkeeper: Lockkeeper;
const config = () => ({
  servers: [
    server(LONG, 'says-anything', { env: { LISTS: listing(LONG_TOOLS) } }),
    server('odd', 'says-anything', { env: { LISTS: listing(ODD_TOOLS) } }),
    server('valid', 'says-anything', { env: { LISTS: listing(VALID_TOOLS) } }),
    server('full', 'says-anything', { isolation: 'exclusive', more: { pool: { max: 1 } } }),
  ],
  routes: [
    ...[LONG, 'odd', 'valid', 'full'].map((name) => ({ path: `/acme/${name}/mcp`, tenant: 'acme', server: name })),
    { path: '/acme/one/mcp', tenant: 'acme', servers: ['valid'] },
    { path: '/acme/two/mcp', tenant: 'acme', servers: ['valid', 'odd'] },
    { path: '/acme/long/mcp', tenant: 'acme', servers: [LONG] },
    { path: '/acme/pool/mcp', tenant: 'acme', servers: ['full'] },
  ],
  limits: { queueMs: 600 },
});

before(async () => {
  lockkeeper = await startStandalone(config());
});
after(() => lockkeeper?.stop());

const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);
/** Alias → the name that the server was called by. */
async function calledBy(url: string): Promise<Map<string, string>> {
  const ask = modernAsker(url);
  const called = new Map<string, string>();
  for (const alias of namesOf(await ask('tools/list'))) {
    assert.match(alias, SAFE);
    called.set(alias, (JSON.parse(textOf(await call(ask, alias))) as { name: string }).name);
  }
  return called;
}

describe('GB-123: long names', () => {
  it('are exposed in 64 characters at most, unique, the same after a restart, and call the full original', async () => {
    const called = await calledBy(at('long'));
    assert.deepEqual([...called.values()], LONG_TOOLS);
    const again = await startStandalone(config());
    try {
      const names = namesOf(await modernAsker(again.route('/acme/long/mcp'))('tools/list'));
      assert.deepEqual(names, [...called.keys()]);
    } finally {
      await again.stop();
    }
  });
});

describe('GB-124: characters that model APIs refuse', () => {
  it('are in no alias; every tool but a nameless one is there and is called by its own name', async () => {
    const called = await calledBy(at('two'));
    const odd = [...called].filter(([alias]) => alias.startsWith('odd__')).map(([, name]) => name);
    assert.deepEqual(
      odd,
      [...new Set(ODD_TOOLS)].filter((name) => name !== ''),
    );
  });
});

const BUSY =
  /^Server "full" is busy: all processes of this server are busy; \d+ calls? waits?, 1 process runs\. Try again/;

describe('GB-126: a listed name', () => {
  for (const era of ERAS) {
    it(`is callable for a ${era} client, and busy but never unknown when the pool is full`, async () => {
      const ask = await asker(era, at('pool'));
      const names = namesOf(await ask('tools/list'));
      const busy = Promise.all([1, 2].map(() => call(ask, 'full__later', { ms: 1500, text: 'x' })));
      for (const name of names.filter((one) => !/later|say|write|together|pieces/.test(one))) {
        const answer = await call(ask, name);
        const said = textOf(answer);
        assert.equal(answer.error, undefined);
        if (answer.result?.isError === true) assert.match(said, BUSY);
      }
      await busy;
      assert.notEqual((await call(ask, 'full__pid')).result?.isError, true);
    });
  }
});

describe('GB-127: a second server on an aggregate', () => {
  it('leaves the names of the first as they were', async () => {
    const one = namesOf(await modernAsker(at('one'))('tools/list'));
    const two = namesOf(await modernAsker(at('two'))('tools/list'));
    assert.deepEqual(
      two.filter((name) => name.startsWith('valid__')),
      one,
    );
  });
});

describe('GB-128: valid names', () => {
  for (const [path, prefix] of [
    ['valid', ''],
    ['one', 'valid__'],
  ] as const) {
    it(`are all kept, with their case, on ${path}`, async () => {
      const ask = modernAsker(at(path));
      const names = namesOf(await ask('tools/list'));
      assert.equal(names.length, VALID_TOOLS.length);
      if (prefix === '') assert.deepEqual(names, VALID_TOOLS);
      for (const name of ['getUser', 'getuser']) {
        assert.equal((JSON.parse(textOf(await call(ask, `${prefix}${name}`))) as { name: string }).name, name);
      }
    });
  }
});
