// Field cases of class CAP: is what is advertised what is served?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { asker, ERAS, type Json, legacyAsker, modernAsker, namesOf, server } from './stage.ts';

const LIES = JSON.stringify({
  capabilities: { resources: {} },
  tools: [{ name: 'b', inputSchema: { type: 'object' } }],
});

let lockkeeper: Lockkeeper;

before(async () => {
  lockkeeper = await startStandalone({
    servers: [
      server('a', 'echo-legacy', {}),
      server('b', 'says-anything', {
        env: { LISTS: LIES, CODES: '{"resources/list":-32601,"resources/templates/list":-32601}' },
      }),
      server('c', 'catalogue', {}),
    ],
  });
});
after(() => lockkeeper?.stop());

const METHODS: readonly [string, string, string][] = [
  ['tools/list', 'tools', 'tools'],
  ['prompts/list', 'prompts', 'prompts'],
  ['resources/list', 'resources', 'resources'],
  ['resources/templates/list', 'resourceTemplates', 'resources'],
];

describe('GB-100: advertised and served', () => {
  for (const [path, offered] of [
    ['/acme/a/mcp', ['tools']],
    ['/acme/b/mcp', ['resources', 'tools']],
    ['/acme/c/mcp', ['completions', 'prompts', 'resources', 'tools']],
    ['/acme/mcp', ['completions', 'prompts', 'resources', 'tools']],
  ] as const) {
    it(`are the same on ${path}, for both eras, and nothing is an error that was advertised`, async () => {
      const url = lockkeeper.route(path);
      const { extensions, ...discovered } = (await modernAsker(url)('server/discover')).result!.capabilities as Json;
      // Tasks are Lockkeeper's own, whatever the servers have.
      assert.deepEqual(Object.keys(extensions ?? {}), ['io.modelcontextprotocol/tasks']);
      const { initialized } = await legacyAsker(url);
      assert.deepEqual(Object.keys(discovered).sort(), offered);
      assert.deepEqual(Object.keys(initialized.capabilities as Json).sort(), offered);
      for (const era of ERAS) {
        const ask = await asker(era, url);
        for (const [method, member, capability] of METHODS) {
          const { result, error, status } = await ask(method);
          if (offered.includes(capability as never)) assert.ok(Array.isArray(result?.[member]), `${era} ${method}`);
          else assert.deepEqual([error?.code, status], [-32601, era === 'modern' ? 404 : 200], `${era} ${method}`);
        }
      }
    });
  }

  it("counts a claimed list that is an unknown method as empty, and hides nobody else's", async () => {
    const ask = modernAsker(lockkeeper.route('/acme/mcp'));
    assert.deepEqual(namesOf(await modernAsker(lockkeeper.route('/acme/b/mcp'))('resources/list'), 'resources'), []);
    const all = await ask('resources/list');
    assert.deepEqual(namesOf(all, 'resources', 'uri'), ['memo://notes/1#lk.c']);
    assert.equal((all.result?._meta as Json | undefined)?.['lockkeeper/unavailable'], undefined);
    assert.deepEqual(namesOf(await ask('tools/list')), ['a__echo', 'b__b', 'c__echo', 'c__link']);
  });
});
