// Field cases of class LIST: is every item of a long list reached, whatever a server's cursors do, and what does looking
// at lists cost the servers?

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { type Asker, asker, ERAS, modernAsker, namesOf, recorded, server } from './stage.ts';

let lockkeeper: Lockkeeper;
let folder: string;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lockkeeper-list-'));
  lockkeeper = await startStandalone({
    servers: [
      server('paged', 'paginated'),
      server('many', 'many-tools'),
      server('stuck', 'paginated', { env: { CURSOR: 'stuck' } }),
      server('circle', 'paginated', { env: { CURSOR: 'circle' } }),
      server('endless', 'paginated', { env: { CURSOR: 'endless' } }),
      server('same', 'paginated', { env: { CURSOR: 'same' } }),
      recorded('watched', 'echo-legacy', join(folder, 'watched')),
      ...['big-1', 'big-2', 'big-3'].map((name) =>
        server(name, 'many-tools', { env: { TOOLS: '300', PADDING: '4096', HUGE: '1000000' } }),
      ),
    ],
    routes: [
      ...['paged', 'many', 'stuck', 'circle', 'endless', 'same', 'watched'].map((name) => ({
        path: `/acme/${name}/mcp`,
        tenant: 'acme',
        server: name,
      })),
      { path: '/acme/mixed/mcp', tenant: 'acme', servers: ['stuck', 'circle', 'paged'] },
      { path: '/acme/big/mcp', tenant: 'acme', servers: ['big-1', 'big-2', 'big-3'] },
    ],
    limits: { pageSize: 100, listTtlMs: 0 },
  });
});
after(async () => {
  await lockkeeper?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function pagesOf(ask: Asker): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await ask('tools/list', cursor === undefined ? {} : { cursor });
    pages.push(namesOf(page));
    cursor = page.result?.nextCursor as string | undefined;
    assert.ok(pages.length < 100, 'it does not end');
  } while (cursor !== undefined);
  return pages;
}

describe('GB-129, GB-132: pages', () => {
  for (const era of ERAS) {
    it(`GB-129: of the server are followed to the end for a ${era} client, the empty cursor too`, async () => {
      const ask = await asker(era, at('paged'));
      assert.deepEqual(await pagesOf(ask), [['echo-1', 'echo-2', 'echo-3']]);
      for (const cursor of ['last', 'made-up', '']) {
        assert.equal((await ask('tools/list', { cursor })).error?.code, -32602);
      }
    });

    it(`GB-132: of ours are walked by a ${era} client to the last of 700, each once`, async () => {
      const ask = await asker(era, at('many'));
      const pages = await pagesOf(ask);
      assert.equal(pages.length, 7);
      const names = pages.flat();
      assert.equal(new Set(names).size, 700);
    });
  }

  it('GB-132: of which one fails fail the whole list, never silently a part of it', async () => {
    const ask = modernAsker(at('many'));
    const before = (await pagesOf(ask)).flat();
    // The server is told to fail one page of its next walk: what was good is shown on, whole.
    await ask('tools/call', { name: 'fail', arguments: { at: 300 } });
    const after = (await pagesOf(ask)).flat();
    assert.deepEqual(after, before);
  });
});

describe('GB-130: a cursor that does not advance', () => {
  for (const [name, expected] of [
    ['stuck', ['echo-1']],
    ['circle', ['echo-1', 'echo-2']],
    ['same', ['echo-1']],
  ] as const) {
    it(`(${name}) ends the list, which is shown once`, async () => {
      for (const era of ERAS) assert.deepEqual((await pagesOf(await asker(era, at(name)))).flat(), expected);
    });
  }

  it('(endless) ends the list or is an error, in time', async () => {
    const { result, error } = await modernAsker(at('endless'))('tools/list');
    assert.ok(error !== undefined || Array.isArray(result?.tools));
  });

  it("leaves other servers' lists alone", async () => {
    const names = (await pagesOf(modernAsker(at('mixed')))).flat();
    assert.deepEqual(names, [
      'stuck__echo-1',
      'circle__echo-1',
      'circle__echo-2',
      'paged__echo-1',
      'paged__echo-2',
      'paged__echo-3',
    ]);
  });
});

describe('GB-134: looking at lists', () => {
  it('starts no process beyond the one that serves, and opens no session twice', async () => {
    for (const era of ERAS) {
      const ask = await asker(era, at('watched'));
      for (let n = 0; n < 10; n++) assert.deepEqual(namesOf(await ask('tools/list')), ['echo']);
    }
    const lines = readFileSync(join(folder, 'watched'), 'utf8').trim().split('\n');
    // One probe, one that serves.
    assert.equal(lines.filter((line) => line.startsWith('start ')).length, 2);
    assert.equal(lines.filter((line) => line === 'initialize').length, 1);
    assert.ok(lines.filter((line) => line === 'tools/list').length >= 10);
  });
});

describe('GB-135: a large catalogue', () => {
  it('is listed whole, page by page, by many clients at once', async () => {
    const asks = await Promise.all(Array.from({ length: 6 }, (_, n) => asker(ERAS[n % 2]!, at('big'))));
    const lists = await Promise.all(asks.map((ask) => pagesOf(ask)));
    for (const pages of lists) {
      assert.equal(new Set(pages.flat()).size, 900);
      for (const page of pages) assert.ok(page.length <= 100);
    }
  });
});
