// A client comes back for its stream, perhaps twice at once at two replicas: who delivers (protocol.md §3.4 "Cross-replica",
// §5.8 #20)?

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '@lockkeeper/state/clock';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import { eventually } from '../../../../../../test/harness/eventually.ts';
import { createSieve, encodeEntry } from '../../../../src/lower/legacy/stream/entry.ts';
import { createHolding } from '../../../../src/lower/legacy/stream/hold.ts';
import type { Hint } from '../../../../src/session/hints.ts';
import { streamLogKey } from '../../../../src/session/keys.ts';
import type { Session } from '../../../../src/session/record.ts';

const SESSION = { id: 's', hash: 's', record: { tenant: 'acme' } } as Session;

/** Two replicas over one store. Their hints arrive when the test says so. */
function replicas(t: TestContext) {
  const warn = (words: string) => assert.fail(words);
  const store = createMemoryStore({ clock: systemClock, warn });
  const ends: (() => Promise<void>)[] = [];
  t.after(async () => {
    for (const end of ends) await end();
    await store.close();
  });
  const listeners: ((hint: Hint) => void)[] = [];
  const underWay: Hint[] = [];
  const failed = (what: string, error: unknown) => assert.fail(`${what}: ${String(error)}`);
  let made = 0;
  const replica = () => {
    const hints = {
      send: (hint: Hint) => void underWay.push(hint),
      on: (listener: (hint: Hint) => void) => void listeners.push(listener),
      start: async () => {},
      close: async () => {},
    };
    const hold = createHolding({ store, clock: systemClock, random: (n) => Buffer.alloc(n, ++made), hints, failed });
    return async () => {
      const heard: string[] = [];
      let lost = false;
      const sink = {
        send: (text: string) => void heard.push(text),
        fetch: async () => '',
        done: () => {},
        lost: () => {
          lost = true;
        },
      };
      const copying = { session: SESSION, stream: 'p1', after: '0-0', sieve: createSieve(), calls: ['x'], sink };
      ends.push((await hold(copying)).release);
      return { heard, lost: () => lost };
    };
  };
  return {
    first: replica(),
    second: replica(),
    hint() {
      for (const hint of underWay.splice(0)) for (const listener of listeners) listener(hint);
    },
    says: (text: string) =>
      store.append(
        streamLogKey('acme', 's', 'p1'),
        encodeEntry({ kind: 'event', xid: 'x', seq: null, text }),
        100,
        60_000,
      ),
  };
}

test('of two that come at once at two replicas one delivers, though each hears of the other', async (t) => {
  const { first, second, hint, says } = replicas(t);
  const both = await Promise.all([first(), second()]);
  hint();
  await eventually(() => both.some(({ lost }) => lost()));
  const [gone, stays] = both[0].lost() ? both : [both[1], both[0]];
  await says('news');
  await eventually(() => stays.heard.includes('news'));
  assert.equal(stays.lost(), false);
  assert.deepEqual(gone.heard, []);
});

test('who comes later delivers, and who held it before learns so by the hint', async (t) => {
  const { first, second, hint, says } = replicas(t);
  const before = await first();
  hint();
  const after = await second();
  hint();
  await eventually(() => before.lost());
  await says('news');
  await eventually(() => after.heard.includes('news'));
  assert.equal(after.lost(), false);
  assert.deepEqual(before.heard, []);
});
