// What a listen keeps alive, and what it survives (design §5 "Obligations", protocol.md §5.2 "listen").

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { CHANGES, listen, told, tool, toolNames } from './ears.ts';

const ERAS = ['legacy', 'modern'] as const;
/** Found out by asking, or told by the operator. */
const SERVERS = ERAS.flatMap((era) => (['auto', 'told'] as const).map((how) => ({ era, how, name: `${era}-${how}` })));

describe('what outlives a process', { concurrency: false }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-tools-'));
  const fileOf = (name: string) => join(folder, `${name}.json`);
  const write = (name: string, names: readonly string[]) => writeFileSync(fileOf(name), JSON.stringify(names));
  let lockkeeper: Lockkeeper;
  const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);

  before(async () => {
    for (const { name } of SERVERS) write(name, ['first']);
    const servers = SERVERS.map(({ era, how, name }) => ({
      name,
      args: [CHANGES],
      env: { ERA: era, TOOLS_FILE: fileOf(name) },
      more: { pool: { idleMs: 1_000 }, ...(how === 'told' && { era }) },
    }));
    const only = {
      ...{ name: 'only', args: [CHANGES], isolation: 'shared' as const },
      more: { pool: { max: 1 } },
    };
    lockkeeper = await startStandalone({
      ...{ servers: [...servers, only], limits: { listTtlMs: 0, queueMs: 10_000 } },
      listen: { adminToken: 'a-token-of-the-operator' },
    });
  });
  after(async () => {
    await lockkeeper.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const { name } of SERVERS) {
    test(`${name}: a listen for lists holds no process; a list that is another at the next start is told`, async () => {
      const ears = await listen(at(name), { toolsListChanged: true });
      const pid = Number(await tool(at(name), 'pid'));
      await eventually(() => gone(pid), { deadlineMs: 10_000, everyMs: 100 });
      assert.deepEqual(ears.heard(), []);
      const second = Number(await tool(at(name), 'pid'));
      assert.notEqual(second, pid);
      await eventually(() => gone(second), { deadlineMs: 10_000, everyMs: 100 });
      assert.deepEqual(ears.heard(), [], 'the same tools are no change');
      write(name, ['first', 'second']);
      await tool(at(name), 'pid');
      await ears.wait('tools/list_changed');
      assert.ok((await toolNames(at(name))).includes('second'));
      assert.deepEqual(ears.heard(), ['tools/list_changed']);
      ears.close();
    });

    test(`${name}: a subscription keeps its process, and is made anew at the next when that dies, and told`, async () => {
      const ears = await listen(at(name), { resourceSubscriptions: ['note://a'] });
      const pid = Number(await tool(at(name), 'pid'));
      // Longer than it may be idle: another server's process of the same age goes meanwhile.
      const other = Number(await tool(at(name.startsWith('legacy') ? 'modern-auto' : 'legacy-auto'), 'pid'));
      await eventually(() => gone(other), { deadlineMs: 10_000, everyMs: 100 });
      assert.equal(Number(await tool(at(name), 'pid')), pid);
      assert.deepEqual(ears.heard(), []);
      process.kill(pid, 'SIGKILL');
      await ears.wait('resources/updated', 1, 'note://a');
      const next = Number(await tool(at(name), 'pid'));
      assert.notEqual(next, pid);
      await tool(at(name), 'touch', { uri: 'note://a' });
      await ears.wait('resources/updated', 2, 'note://a');
      const { subscribed, listens } = await told(at(name));
      const known = [...subscribed, ...listens.flatMap((l) => l.resourceSubscriptions ?? [])];
      assert.deepEqual(known, ['note://a']);
      ears.close();
      await eventually(() => gone(next), { deadlineMs: 10_000, everyMs: 100 });
    });
  }

  test('a process that is to end is kept by no subscription, though there may be only one: it is made anew at the next', async () => {
    const ears = await listen(at('only'), { resourceSubscriptions: ['note://a'] });
    const pid = Number(await tool(at('only'), 'pid'));
    const order = await fetch(`${lockkeeper.admin}/pools/restart`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer a-token-of-the-operator' },
      body: JSON.stringify({ tenant: 'acme', server: 'only' }),
    });
    assert.equal(order.status, 200);
    assert.notEqual(Number(await tool(at('only'), 'pid')), pid);
    await ears.wait('resources/updated', 1, 'note://a');
    await tool(at('only'), 'touch', { uri: 'note://a' });
    await ears.wait('resources/updated', 2, 'note://a');
    ears.close();
  });
});

function gone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
