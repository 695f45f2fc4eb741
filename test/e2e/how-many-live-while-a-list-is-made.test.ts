// An aggregate of many servers that nobody knows yet: each has to be asked what it is, on a process of its own. The caps
// hold for those processes, too (design §5), and the list becomes whole all the same.

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../harness/eventually.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { callModern } from '../harness/messages.ts';
import { descendants } from '../harness/process-tree.ts';

const CHILD = fileURLToPath(new URL('../servers/slow-start.mjs', import.meta.url));
const SERVERS = 8;

let keeper: Lockkeeper | null = null;

after(() => keeper?.stop());

async function listed(url: string): Promise<number> {
  const { message } = await callModern(url, { method: 'tools/list', params: {} });
  const { result } = message as { result: { tools: { name: string }[] } };
  return new Set(result.tools.map(({ name }) => name.split('__')[0])).size;
}

describe('eight servers of unknown era behind one route', () => {
  for (const [limit, cap] of [
    ['maxPerNode', 3],
    ['maxPerTenant', 1],
  ] as const) {
    it(`limits.${limit} ${cap}: never more processes live, and in the end all are in the list`, async () => {
      const servers = Array.from({ length: SERVERS }, (_x, i) => ({
        ...{ name: `s${i}`, isolation: 'shared' as const, args: [CHILD], env: { START_MS: '150' } },
      }));
      keeper = await startStandalone({ limits: { [limit]: cap }, servers });
      const { process, route } = keeper;
      const living = () => descendants(process.pid).filter(({ command }) => command.includes(CHILD)).length;
      let peak = 0;
      let whole = false;
      const list = eventually(async () => (await listed(route('/acme/mcp'))) === SERVERS, {
        deadlineMs: 60_000,
      }).finally(() => {
        whole = true;
      });
      const watch = eventually(
        () => {
          peak = Math.max(peak, living());
          return whole;
        },
        { deadlineMs: 70_000 },
      );
      await Promise.all([list, watch]);
      assert.equal(peak, cap);
      await keeper.stop();
      keeper = null;
    });
  }
});
