// Endings and reloads of a listen (protocol.md §2.9, §5.7 "Membership change", design §5 "Revocation").

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { eventually, within } from '../harness/eventually.ts';
import { createIssuer, type Issuer } from '../harness/issuer.ts';
import { type Lockkeeper, startStandalone, type Wish } from '../harness/lockkeeper.ts';
import { callModern } from '../harness/messages.ts';
import { CHANGES, type Ears, listen, SUB, tool } from './ears.ts';

const ROUTE = '/acme/mcp';

describe('how a listen ends', { concurrency: false }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-late-'));
  let issuer: Issuer;
  let lockkeeper: Lockkeeper;
  let url: string;
  const token = (sub: string, ttlSeconds = 600) => issuer.token({ sub, audience: url, ttlSeconds, groups: ['dev'] });

  function wish(servers: readonly string[], resources: readonly string[] = ['*']): Wish {
    const allow = servers.map((server) => ({ server, tools: ['*'], prompts: ['*'], resources }));
    return {
      servers: ['one', 'two'].map((name) => ({ name, args: [CHANGES] })),
      routes: [{ path: ROUTE, tenant: 'acme', servers }],
      auth: { mode: 'jwt', issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] }] },
      policy: [{ tenant: 'acme', groups: ['dev'], allow }],
      limits: { drainMs: 2_000 },
    };
  }

  function assertEnded(ears: Ears): void {
    const last = ears.messages.at(-1) as {
      id?: unknown;
      result?: { resultType: string; _meta: Record<string, unknown> };
    };
    assert.equal(last.id, 'ears');
    assert.equal(last.result!.resultType, 'complete');
    assert.equal(last.result!._meta[SUB], 'ears');
  }

  before(async () => {
    issuer = createIssuer();
    lockkeeper = await startStandalone(wish(['one']));
    url = lockkeeper.route(ROUTE);
    await tool(url, 'one__pid', {}, { token: token('warm') });
  });
  after(async () => {
    await lockkeeper.stop();
    issuer.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('with its result when the token expires', async () => {
    const ears = await listen(url, { toolsListChanged: true }, { token: token('alice', 3) });
    await within(ears.ended, 15_000, 'end of the stream');
    assertEnded(ears);
  });

  test('a caller may have so many open and no more; another is not concerned, and one that leaves makes room', async () => {
    const open: Ears[] = [];
    for (let i = 0; i < 64; i++) open.push(await listen(url, { toolsListChanged: true }, { token: token('greedy') }));
    const refused = await listen(url, { toolsListChanged: true }, { token: token('greedy') });
    await within(refused.ended, 5_000, 'refusal');
    assert.equal(refused.status, 429);
    const other = await listen(url, { toolsListChanged: true }, { token: token('modest') });
    assert.equal(other.status, 200);
    for (const ears of [...open, other]) ears.close();
  });

  test('another membership of the route changes every list, with what it then tells', async () => {
    const wanted = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    const ears = await listen(url, wanted, { token: token('alice') });
    lockkeeper.rewrite!(wish(['one', 'two']));
    for (const kind of ['tools', 'prompts', 'resources']) await ears.wait(`${kind}/list_changed`);
    await tool(url, 'two__fire', { times: 1 }, { token: token('alice') });
    await ears.wait('tools/list_changed', 2);
    ears.close();
  });

  test('with its result when the policy takes a resource back', async () => {
    const wanted = { resourceSubscriptions: ['note://a#lk.one', 'note://a#lk.two'] };
    const ears = await listen(url, wanted, { token: token('alice') });
    assert.deepEqual(ears.messages[0]!.params!.notifications, wanted);
    lockkeeper.rewrite!(wish(['one', 'two'], ['note://b']));
    await within(ears.ended, 10_000, 'end of the stream');
    assertEnded(ears);
    const again = await listen(url, wanted, { token: token('alice') });
    assert.deepEqual(again.messages[0]!.params!.notifications, {});
    again.close();
  });

  test('in an aggregate a server that is down leaves the rest told, and is called changed when it is back', async () => {
    const late = join(folder, 'late.mjs');
    const servers = [
      { name: 'one', args: [CHANGES] },
      { name: 'two', args: [late] },
    ];
    lockkeeper.rewrite!({ ...wish(['one', 'two']), servers });
    const alice = { token: token('alice') };
    await eventually(
      async () => {
        const { message } = await callModern(url, { method: 'tools/list', ...alice });
        assert.match(JSON.stringify(message), /lockkeeper\/unavailable/);
      },
      { deadlineMs: 15_000 },
    );
    const ears = await listen(url, { toolsListChanged: true }, alice);
    assert.deepEqual(ears.messages[0]!.params!.notifications, { toolsListChanged: true });
    assert.deepEqual(ears.heard(), []);
    await tool(url, 'one__fire', { times: 1 }, alice);
    await ears.wait('tools/list_changed');
    writeFileSync(late, `import ${JSON.stringify(pathToFileURL(CHANGES).href)};`);
    await eventually(() => ears.count('tools/list_changed') === 2, { deadlineMs: 30_000 });
    ears.close();
  });

  test('with its result when the gateway drains', async () => {
    const ears = await listen(url, { toolsListChanged: true }, { token: token('alice') });
    await lockkeeper.stop();
    await within(ears.ended, 5_000, 'end of the stream');
    assertEnded(ears);
  });
});
