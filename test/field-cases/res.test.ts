// Field cases of class RES: does every result carry the fields of its revision, and nothing that was not agreed upon?
// GB-056 is in ten.test.ts, where callers are told apart.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { call, type Json, legacyAsker, modernAsker, server } from './stage.ts';

let lockkeeper: Lockkeeper;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);

before(async () => {
  lockkeeper = await startStandalone({
    servers: [
      server('old', 'catalogue'),
      server('modern', 'says-anything', { env: { ERA: 'modern' } }),
      server('legacy', 'says-anything', {}),
    ],
  });
});
after(() => lockkeeper?.stop());

const CACHEABLE: readonly [string, Json][] = [
  ['server/discover', {}],
  ['tools/list', {}],
  ['prompts/list', {}],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'memo://notes/1' }],
];

describe('GB-055: caching fields', () => {
  for (const path of ['/acme/old/mcp', '/acme/mcp']) {
    for (const [method, params] of CACHEABLE) {
      const asked = path === '/acme/mcp' && 'uri' in params ? { uri: 'memo://notes/1#lk.old' } : params;
      it(`${method} on ${path}: a modern client gets them of a legacy server`, async () => {
        const { result, message } = await modernAsker(lockkeeper.route(path))(method, asked);
        assert.equal(result?.resultType, 'complete', JSON.stringify(message));
        assert.ok(Number.isInteger(result.ttlMs) && Number(result.ttlMs) >= 0);
        assert.ok(result.cacheScope === 'public' || result.cacheScope === 'private');
      });
      if (method === 'server/discover') continue;
      it(`${method} on ${path}: a legacy client gets none invented`, async () => {
        const { result } = await (await legacyAsker(lockkeeper.route(path)))(method, asked);
        assert.ok(result);
        for (const field of ['resultType', 'ttlMs', 'cacheScope'])
          assert.ok(!(field in result), JSON.stringify(result));
      });
    }
  }

  it('are not added to what is not cacheable', async () => {
    const { result } = await call(modernAsker(at('old')), 'echo', { text: 'x' });
    assert.equal(result?.resultType, 'complete');
    assert.ok(!('ttlMs' in result) && !('cacheScope' in result));
  });
});

describe('GB-057: resultType', () => {
  const content = '"content":[{"type":"text","text":"x"}]';
  const say = async (type: string | undefined) => {
    const result = type === undefined ? `{${content}}` : `{"resultType":${type},${content}}`;
    return [
      await call(modernAsker(at('modern')), 'say', { result }),
      await call(await legacyAsker(at('modern')), 'say', { result }),
    ] as const;
  };

  for (const type of [undefined, '"complete"']) {
    it(`${type ?? 'absent'} is complete, and unknown to a legacy client`, async () => {
      const [modern, legacy] = await say(type);
      assert.equal(modern.result?.resultType, 'complete');
      assert.ok(legacy.result && !('resultType' in legacy.result) && legacy.result.isError === undefined);
    });
  }

  for (const type of ['"task"', '"weird"', '7']) {
    it(`${type} is passed on to nobody`, async () => {
      for (const { status, message } of await say(type)) {
        assert.equal(status, 200);
        const { error, result } = message as { error?: { code: number }; result?: Json };
        assert.ok(error !== undefined || result?.isError === true, JSON.stringify(message));
        assert.ok(result === undefined || result.resultType !== JSON.parse(type));
        assert.doesNotMatch(JSON.stringify(result?.content ?? []), /"text":"x"/);
      }
    });
  }

  for (const type of ['"input_required"', '"task"', '"weird"', '7']) {
    it(`${type} of a legacy server means nothing: its result is complete, and no client sees it`, async () => {
      const args = { result: `{"resultType":${type},${content}}` };
      const modern = await call(modernAsker(at('legacy')), 'say', args);
      assert.equal(modern.result?.resultType, 'complete', JSON.stringify(modern.message));
      const legacy = await call(await legacyAsker(at('legacy')), 'say', args);
      for (const { result } of [modern, legacy]) assert.match(JSON.stringify(result?.content), /"text":"x"/);
      assert.ok(!('resultType' in legacy.result!), JSON.stringify(legacy.message));
    });
  }
});
