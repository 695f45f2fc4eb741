// Field cases of class ERA: is every server spoken to in its own era, whatever it answers to the probe, and is no call of
// a client ever the probe?

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { legacyRequest, modernRequest } from '../harness/messages.ts';
import { openRaw, requestBytes } from '../harness/raw.ts';
import { asker, call, ERAS, modernAsker, namesOf, recorded, server, textOf } from './stage.ts';

const REFUSALS = {
  'method-not-found': { CODE: '-32601' },
  'invalid-params': { CODE: '-32602' },
  'invalid-request': { CODE: '-32600' },
  'not-initialized': { CODE: '-32000' },
  'without-id': { CODE: '-32000', ANSWER: 'no-id' },
};

let lockkeeper: Lockkeeper;
let folder: string;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);
const recordOf = (name: string) => readFileSync(join(folder, name), 'utf8').trim().split('\n');
/** What each process was sent, in order. */
const processesOf = (name: string) =>
  recordOf(name)
    .join('\n')
    .split(/^start \d+\n?/m)
    .slice(1)
    .map((part) => part.split('\n').filter(Boolean));

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lockkeeper-era-'));
  const watched = (name: string, file: string, wish = {}) => recorded(name, file, join(folder, name), wish);
  lockkeeper = await startStandalone({
    servers: [
      ...Object.entries(REFUSALS).map(([name, env]) => watched(name, 'refuses-probe', { env })),
      watched('mute', 'refuses-probe', { env: { ANSWER: 'silent' }, more: { startTimeoutMs: 1500 } }),
      watched('late', 'refuses-probe', { env: { ANSWER: 'silent', INIT_MS: '2500' }, more: { startTimeoutMs: 4000 } }),
      watched('exit-0', 'exits-on-probe', { env: { EXIT_CODE: '0' } }),
      watched('exit-1', 'exits-on-probe', { env: { EXIT_CODE: '1' } }),
      watched('newer', 'refuses-probe', { env: { ANSWER: 'newer' } }),
      watched('again', 'refuses-probe', { env: { ANSWER: 'modern' } }),
      server('hangs', 'never-lists', { more: { callTimeoutMs: 700 } }),
      server('legacy', 'echo-legacy'),
      watched('charges', 'counter'),
    ],
    routes: [
      ...[
        ...Object.keys(REFUSALS),
        'mute',
        'late',
        'exit-0',
        'exit-1',
        'newer',
        'again',
        'hangs',
        'legacy',
        'charges',
      ].map((name) => ({ path: `/acme/${name}/mcp`, tenant: 'acme', server: name })),
      { path: '/acme/both/mcp', tenant: 'acme', servers: ['hangs', 'legacy'] },
    ],
  });
});
after(async () => {
  await lockkeeper?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('GB-034: an answer to the probe that is not modern', () => {
  for (const name of Object.keys(REFUSALS)) {
    it(`(${name}) means legacy: the server is introduced and serves both eras`, async () => {
      for (const era of ERAS) {
        const ask = await asker(era, at(name));
        assert.deepEqual(namesOf(await ask('tools/list')), ['echo']);
        assert.equal(textOf(await call(ask, 'echo', { text: era })), era);
      }
      const processes = processesOf(name);
      assert.deepEqual(processes[0], ['server/discover']);
      for (const process of processes.slice(1)) assert.equal(process[0], 'initialize');
      // The verdict is kept: the probe happened once.
      assert.equal(recordOf(name).filter((line) => line === 'server/discover').length, 1);
    });
  }
});

describe('GB-035, GB-036: silence on the probe', () => {
  it('GB-035: ends after a part of the start time, and the server serves', async () => {
    assert.equal(textOf(await call(modernAsker(at('mute')), 'echo', { text: 'x' })), 'x');
  });

  it('GB-036: leaves initialize a time of its own', async () => {
    // 2 s of probe and 2.5 s of initialize are more than the 4 s of either.
    assert.equal(textOf(await call(modernAsker(at('late')), 'echo', { text: 'x' })), 'x');
  });
});

describe('GB-037: a server that exits on the probe', () => {
  for (const code of [0, 1]) {
    it(`with ${code} is started once more, straight to initialize, and has not crashed`, async () => {
      const ask = modernAsker(at(`exit-${code}`));
      for (const text of ['one', 'two']) assert.equal(textOf(await call(ask, 'echo', { text })), text);
      const [probed, ...served] = processesOf(`exit-${code}`);
      assert.deepEqual(probed, ['server/discover']);
      assert.equal(served.length, 1);
      assert.deepEqual(served[0]!.slice(0, 2), ['initialize', 'notifications/initialized']);
      const crashes = lockkeeper.process
        .logs()
        .split('\n')
        .filter((line) => line.includes(`"exit-${code}"`) && /crash/.test(line));
      assert.deepEqual(crashes, []);
    });
  }
});

describe('GB-039: -32022 to the probe', () => {
  it('without a revision in common is an error that names both sets, and no initialize is sent', async () => {
    const answer = await call(modernAsker(at('newer')), 'echo', { text: 'x' });
    assert.match(textOf(answer), /2026-10-01/);
    assert.match(textOf(answer), /2026-07-28/);
    assert.ok(!recordOf('newer').includes('initialize'));
  });

  it('with one is asked again, and the server is modern', async () => {
    assert.equal(textOf(await call(modernAsker(at('again')), 'echo', { text: 'x' })), 'x');
    assert.ok(!recordOf('again').includes('initialize'));
  });
});

describe('GB-041: discover works and the list hangs', () => {
  for (const era of ERAS) {
    it(`fails in time for that server only, for a ${era} client`, async () => {
      const alone = await (await asker(era, at('hangs')))('tools/list');
      assert.match(alone.error?.message ?? '', /did not answer in time; nothing has run/);
      // Headers of a modern call are held against the tool's schema, and never passed unseen (protocol.md §2.3).
      const said = textOf(await call(await asker(era, at('hangs')), 'echo', { text: 'x' }));
      assert.match(said, era === 'modern' ? /nothing has run\. Try again/ : /^x$/);
      const both = await (await asker(era, at('both')))('tools/list');
      assert.deepEqual(namesOf(both), ['legacy__echo']);
      assert.match(JSON.stringify(both.result?._meta), /"lockkeeper\/unavailable":\[\{"server":"hangs"/);
    });
  }
});

describe('GB-042: a client that opens with server/discover on a route to a legacy server', () => {
  it('is answered, and may initialize on the same connection', async () => {
    const connection = await openRaw(at('legacy'));
    connection.write(requestBytes(at('legacy'), modernRequest({ method: 'server/discover' })));
    const discovered = (await (await connection.response()).json()) as { result: { supportedVersions: string[] } };
    assert.ok(discovered.result.supportedVersions.includes('2026-07-28'));
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
    const message = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
    connection.write(requestBytes(at('legacy'), legacyRequest({ message })));
    const response = await connection.response();
    const opened = (await response.json()) as { id: number; result: { protocolVersion: string } };
    connection.destroy();
    assert.equal(opened.result.protocolVersion, '2025-06-18');
    assert.equal(opened.id, 0);
    assert.ok(response.headers.get('mcp-session-id'));
  });
});

describe('GB-043: a legacy server that would run a call before initialize', () => {
  it('is sent server/discover first and the call once', async () => {
    const first = JSON.parse(textOf(await call(modernAsker(at('charges')), 'count'))) as { count: number };
    assert.equal(first.count, 1);
    const processes = processesOf('charges');
    assert.deepEqual(processes[0], ['server/discover']);
    assert.equal(processes.flat().filter((method) => method === 'tools/call').length, 1);
    assert.equal(processes[1]![0], 'initialize');
  });
});

describe('GB-045: a probe whose header and body differ', () => {
  for (const [what, header] of [
    ['another Mcp-Method', 'initialize'],
    ['no Mcp-Method', undefined],
  ] as const) {
    it(`(${what}) is -32020 with its id, and blocks nothing that follows on the connection`, async () => {
      const connection = await openRaw(at('legacy'));
      const wrong = modernRequest({ id: 'q-7', method: 'server/discover', headers: { 'mcp-method': header } });
      connection.write(requestBytes(at('legacy'), wrong));
      const refused = await connection.response();
      assert.equal(refused.status, 400);
      const { id, error } = (await refused.json()) as { id: string; error: { code: number } };
      assert.deepEqual([id, error.code], ['q-7', -32020]);
      connection.write(requestBytes(at('legacy'), modernRequest({ method: 'tools/list' })));
      assert.equal((await connection.response()).status, 200);
      connection.destroy();
    });
  }
});
