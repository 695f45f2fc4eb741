// Only a process that answers can refuse a subscription: one on its way out has said nothing, and the next one is asked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { StreamReply } from '../../src/link/contract.ts';
import { Outlet } from '../../src/listen/outlet.ts';
import { Source } from '../../src/listen/source.ts';
import type { Lease, LeaseRequest } from '../../src/pool/contract.ts';
import type { Connection } from '../../src/raise/contract.ts';
import type { Side, SideAnswer } from '../../src/raise/side.ts';
import { manualClock } from './manual-clock.ts';

const URI = 'note://a';
const REQUEST = {} as LeaseRequest;

/** A modern one: acknowledges its first listens and takes no more after them. */
function modern(takes: number): Connection {
  const listen: Side['listen'] = (filter, { acknowledged }) => {
    if (takes-- <= 0) return null;
    queueMicrotask(() => acknowledged(filter));
    return { close: () => {} };
  };
  const profile = { era: 'modern', capabilities: { tools: { listChanged: true }, resources: { subscribe: true } } };
  const side: Side = { listen, onChange: () => {}, ask: async () => ({ kind: 'none' }) };
  return { profile, fingerprint: '', closed: new Promise(() => {}), side } as unknown as Connection;
}

function process(answer: SideAnswer['kind']): Connection & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    profile: { era: 'legacy', capabilities: { resources: { subscribe: true } } },
    fingerprint: '',
    closed: new Promise(() => {}),
    side: {
      ask: async (method: string) => {
        asked.push(method);
        return { kind: answer, bytes: Buffer.from('{}'), code: -32002, message: 'no such' };
      },
      onChange: () => {},
      listen: () => null,
    },
  } as unknown as Connection & { readonly asked: string[] };
}

function stage(next: Connection | null) {
  const clock = manualClock();
  const told: string[] = [];
  const held = { leases: 0 };
  const source: Source = new Source({ isolation: 'user', name: 's', tenant: 't' } as ServerSpec, {
    clock,
    random: () => 1,
    idle: () => {},
    failed: () => {},
    declared: async (wanted) => wanted,
    request: async () => REQUEST,
    pools: {
      lease: async () => {
        if (next === null) throw new Error('it does not start');
        source.appeared(next, REQUEST);
        held.leases++;
        return { connection: next, release: () => void held.leases-- } as unknown as Lease;
      },
    },
  });
  const reply = { event: (_method: string, members: Uint8Array) => void told.push(Buffer.from(members).toString()) };
  const outlet = (lists: readonly 'tools'[], uris: readonly string[]) =>
    new Outlet({ lists: new Set(lists), uris: new Set(uris) }, reply as unknown as StreamReply, clock);
  const join = async (lists: readonly 'tools'[] = [], uris = [URI]) => {
    await source.join(outlet(lists, uris));
    return told.at(-1)!;
  };
  return { source, join, outlet, held };
}

test('the process that is there is on its way out: its successor is asked, and says yes', async () => {
  const [leaving, next] = [process('none'), process('result')];
  const { source, join } = stage(next);
  source.appeared(leaving, REQUEST);
  assert.match(await join(), /"uris":\["note:\/\/a"\]$/);
  assert.deepEqual([leaving.asked[0], next.asked[0]], ['resources/subscribe', 'resources/subscribe']);
});

test('a process that says no has said no', async () => {
  const { source, join } = stage(process('error'));
  source.appeared(process('error'), REQUEST);
  assert.match(await join(), /"uris":\[\]$/);
});

test('where no process answers, and where none starts, nobody has said no', async () => {
  const silent = stage(process('none'));
  silent.source.appeared(process('none'), REQUEST);
  assert.match(await silent.join(), /"uris":\[\],"unsure":true$/);
  assert.match(await stage(null).join(), /"uris":\[\],"unsure":true$/);
});

test('a listen of before, on a process that takes no further one, is no refusal of what is wanted now', async () => {
  const { source, join } = stage(modern(1));
  source.appeared(modern(1), REQUEST);
  assert.match(await join(['tools'], []), /"tools":true.*"uris":\[\]$/);
  assert.match(await join(), /"uris":\["note:\/\/a"\]$/);
});

test('who leaves before he has been told anything leaves no process held behind', async () => {
  for (const there of [[], [process('result')]]) {
    const { source, outlet, held } = stage(process('result'));
    for (const one of there) source.appeared(one, REQUEST);
    const hasty = outlet([], [URI]);
    const joined = source.join(hasty);
    source.leave(hasty);
    await joined;
    assert.equal(held.leases, 0);
  }
});
