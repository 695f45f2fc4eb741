// Only a process that answers can refuse a subscription: one on its way out has said nothing, and the next one is asked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { StreamReply } from '../../src/link/contract.ts';
import { Outlet } from '../../src/listen/outlet.ts';
import { Source } from '../../src/listen/source.ts';
import type { Lease, LeaseRequest } from '../../src/pool/contract.ts';
import type { Connection } from '../../src/raise/contract.ts';
import type { SideAnswer } from '../../src/raise/side.ts';
import { manualClock } from './manual-clock.ts';

const URI = 'note://a';
const REQUEST = {} as LeaseRequest;

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
        return { connection: next, release: () => {} } as unknown as Lease;
      },
    },
  });
  const reply = { event: (_method: string, members: Uint8Array) => void told.push(Buffer.from(members).toString()) };
  const join = async () => {
    await source.join(new Outlet({ lists: new Set(), uris: new Set([URI]) }, reply as unknown as StreamReply, clock));
    return told.at(-1)!;
  };
  return { source, join };
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
