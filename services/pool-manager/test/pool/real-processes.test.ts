// Pools, connector and children together on real processes: the PROC and START cases of field-cases.md.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { poolKey } from '@lockkeeper/protocol/link/keys';
import { systemClock } from '@lockkeeper/state/clock';
import { eventually } from '../../../../test/harness/eventually.ts';
import { descendants } from '../../../../test/harness/process-tree.ts';
import type { NodePools } from '../../src/pool/contract.ts';
import { createPools } from '../../src/pool/pools.ts';
import { StartError } from '../../src/raise/contract.ts';
import { fixture, testSpawn } from '../child/started.ts';
import { bytes, collect, connectorOf, memoryStore, notedLog, openOf } from '../raise/fake.ts';
import { LIMITS, ownerOf } from './stage.ts';

const dir = mkdtempSync(join(tmpdir(), 'lockkeeper-test-'));
after(() => rmSync(dir, { recursive: true }));
/** Children of this very process that a pool started; the runner has none of its own. */
const family = () => descendants(process.pid).filter(({ command }) => command.includes('test/servers'));

interface Node {
  readonly pools: NodePools;
  spawned: number;
  call(spec: ServerSpec, tool: string, args?: object, subject?: string): Promise<string>;
  close(): Promise<void>;
}

const nodes: Node[] = [];
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((n) => n.close()));
});

function node(limits: Partial<typeof LIMITS> = {}): Node {
  const plain = testSpawn();
  const connector = connectorOf({
    spawn: (spec, events) => {
      it.spawned++;
      return plain(spec, events);
    },
    store: memoryStore(),
    timings: { probeMs: 500, spareMs: 500 },
  });
  const pools = createPools({
    connector,
    clock: systemClock,
    log: notedLog(),
    limits: () => ({ ...LIMITS, ...limits }),
    sweepMs: 50,
  });
  const it: Node = {
    pools,
    spawned: 0,
    async call(spec, tool, args = {}, subject = 'alice') {
      const owner = ownerOf({ spec, subject });
      const principal = { tenant: spec.tenant, issuer: 'https://idp', subject, client: 'app' };
      const profile = await connector.profile(spec, new AbortController().signal);
      assert.equal(profile.era, 'legacy');
      const lease = await pools.lease({
        ...{ spec, owner, principal, capabilities: {}, fingerprint: '', alone: spec.isolation === 'exclusive' },
        key: poolKey(owner, ''),
        waitMs: 20_000,
        signal: new AbortController().signal,
      });
      const { reply, ended } = collect();
      lease.connection.call(
        openOf('tools/call', { name: tool }),
        bytes(`"name":"${tool}","arguments":${JSON.stringify(args)}`),
        reply,
      );
      const { value, fault } = await ended;
      lease.release();
      if (value === undefined) throw new Error(fault?.message);
      return (value as { content: { text: string }[] }).content[0]!.text;
    },
    async close() {
      await pools.close(0);
      await connector.close();
    },
  };
  nodes.push(it);
  return it;
}

describe('real processes', () => {
  it('GB-016: persons come and go, processes do too, and never serve two of them', async () => {
    const n = node({ maxPerServer: 4 });
    const spec = fixture('counter', {}, { pool: { max: 2, minWarm: 0, idleMs: 200, maxAgeMs: 60_000, maxUses: 1000 } });
    const servedBy = new Map<number, string>();
    for (let round = 0; round < 3; round++) {
      await Promise.all(
        Array.from({ length: 6 }, async (_x, i) => {
          const subject = `u${i}`;
          const { pid, before } = JSON.parse(await n.call(spec, 'remember', { value: subject }, subject));
          assert.ok(before === null || before === subject, `${subject} saw what ${before} left`);
          assert.ok([undefined, subject].includes(servedBy.get(pid)));
          servedBy.set(pid, subject);
        }),
      );
      assert.ok(family().length <= 5, `${family().length}`);
    }
    await eventually(() => family().length === 0);
    await n.close();
  });

  it('GB-018, GB-027: a server that cannot start is refused soon, started rarely, and works once it is repaired', async () => {
    const n = node();
    const good = join(dir, 'good');
    const spec = fixture('crashes-on-start', { GOOD_FILE: good });
    const began = performance.now();
    await assert.rejects(
      n.call(spec, 'echo'),
      (e: StartError) => e instanceof StartError && /exited with code 1/.test(e.words),
    );
    assert.ok(performance.now() - began < 5_000);
    for (let i = 0; i < 20; i++) await n.call(spec, 'echo').catch(() => {});
    assert.ok(n.spawned < 20, `${n.spawned}`);
    writeFileSync(good, '');
    await eventually(async () => (await n.call(spec, 'echo', { text: 'back' })) === 'back', {
      deadlineMs: 15_000,
      everyMs: 300,
    });
    await n.close();
  });

  it('GB-017: twenty calls to a server that never answers leave no process', async () => {
    const n = node();
    const spec = fixture('silent', {}, { startTimeoutMs: 400 });
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, (_x, i) => n.call(spec, 'echo', {}, `u${i}`)));
    assert.ok(outcomes.every((o) => o.status === 'rejected' && o.reason instanceof StartError));
    assert.ok(n.spawned <= 3, `${n.spawned}`);
    await eventually(() => family().length === 0);
    await n.close();
  });

  it('GB-023: a process killed while idle is replaced at the next call', async () => {
    const n = node();
    const spec = fixture('counter');
    const { pid } = JSON.parse(await n.call(spec, 'count')) as { pid: number };
    process.kill(pid, 'SIGKILL');
    await eventually(() => n.pools.stats().idle === 0);
    const next = JSON.parse(await n.call(spec, 'count')) as { pid: number; count: number };
    assert.notEqual(next.pid, pid);
    assert.equal(next.count, 1);
    await n.close();
  });

  it('GB-015: close leaves nobody, not even stubborn grandchildren', async () => {
    const n = node();
    await n.call(fixture('spawns-grandchild', { DETACHED: '1' }), 'echo', { text: 'a' });
    await n.call(fixture('ignores-close', {}, { digest: 'd2' }), 'echo', { text: 'a' });
    assert.ok(family().length >= 2);
    await n.close();
    assert.deepEqual(family(), []);
  });
});
