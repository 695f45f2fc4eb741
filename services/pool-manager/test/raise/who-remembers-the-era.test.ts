// A verdict is shared between nodes, kept from other tenants, and dropped when a server contradicts it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { clockAt, connectorOf, legacyServer, memoryStore, modernServer, NEVER, ok, spawner, specOf } from './fake.ts';

test('the verdict is shared: a second node asks nobody, and callers at once cause one probe', async () => {
  const store = memoryStore();
  const first = spawner(legacyServer());
  const a = connectorOf({ spawn: first.spawn, store });
  const profiles = await Promise.all([
    a.profile(specOf(), NEVER),
    a.profile(specOf(), NEVER),
    a.profile(specOf(), NEVER),
  ]);
  assert.equal(new Set(profiles).size, 1);
  assert.equal(first.children.length, 2);
  const second = spawner(legacyServer());
  const b = connectorOf({ spawn: second.spawn, store });
  assert.equal((await b.profile(specOf(), NEVER)).era, 'legacy');
  assert.equal(second.children.length, 0);
  await a.close();
  await b.close();
});

test('two nodes at once: one probes, the other waits for its answer', async () => {
  const store = memoryStore();
  const first = spawner(legacyServer());
  const second = spawner(legacyServer());
  const a = connectorOf({ spawn: first.spawn, store });
  const b = connectorOf({ spawn: second.spawn, store });
  const found = await Promise.all([a.profile(specOf(), NEVER), b.profile(specOf(), NEVER)]);
  assert.deepEqual(
    found.map((p) => p.era),
    ['legacy', 'legacy'],
  );
  assert.equal(first.children.length + second.children.length, 2);
  await a.close();
  await b.close();
});

test('a verdict of one tenant is not another’s, even for the same command', async () => {
  const { spawn, children } = spawner(modernServer());
  const connector = connectorOf({ spawn });
  await connector.profile(specOf(), NEVER);
  await connector.profile(specOf({ tenant: 'globex' }), NEVER);
  assert.equal(children.length, 2);
  await connector.close();
});

test('a store that fails costs a probe and nothing else', async () => {
  const broken = new Proxy(memoryStore(), {
    get: (target, name) =>
      ['get', 'set', 'setIfAbsent', 'compareAndDelete', 'delete'].includes(String(name))
        ? () => Promise.reject(new Error('down'))
        : Reflect.get(target, name),
  });
  const { spawn } = spawner(modernServer());
  const connector = connectorOf({ spawn, store: broken });
  const connection = await connector.connect(specOf(), {}, NEVER);
  assert.equal(connection.profile.era, 'modern');
  await connection.stop('test');
  await connector.close();
});

test('a remembered legacy verdict that is contradicted is dropped and asked for once more', async () => {
  const store = memoryStore();
  const before = connectorOf({ spawn: spawner(legacyServer()).spawn, store });
  await before.profile(specOf(), NEVER);
  await before.close();
  const now = spawner(modernServer());
  const connector = connectorOf({ spawn: now.spawn, store });
  const connection = await connector.connect(specOf(), {}, NEVER);
  assert.equal(connection.profile.era, 'modern');
  assert.deepEqual(
    now.children.map((c) => c.methods()),
    [['initialize'], ['server/discover']],
  );
  await connection.stop('test');
  await connector.close();
});

test('a remembered modern verdict that is contradicted is dropped and asked for once more', async () => {
  const store = memoryStore();
  const before = connectorOf({ spawn: spawner(modernServer()).spawn, store });
  await before.profile(specOf(), NEVER);
  await before.close();
  const now = spawner(legacyServer());
  const connector = connectorOf({ spawn: now.spawn, store });
  const connection = await connector.connect(specOf(), {}, NEVER);
  assert.equal(connection.profile.era, 'legacy');
  await connection.stop('test');
  await connector.close();
});

test('an old legacy verdict is asked again behind the next start, so an upgrade to both eras is noticed', async () => {
  const time = clockAt(1_000_000);
  let upgraded = false;
  const dual = legacyServer((m, child) => {
    if (!upgraded || m.method !== 'server/discover') return false;
    modernServer()(m, child);
    return true;
  });
  const connector = connectorOf({ spawn: spawner(dual).spawn, clock: time.clock });
  await (await connector.connect(specOf(), {}, NEVER)).stop('test');
  upgraded = true;
  time.now += 86_400_001;
  const old = await connector.connect(specOf(), {}, NEVER);
  assert.equal(old.profile.era, 'legacy');
  await old.stop('test');
  await eventually(async () => (await connector.profile(specOf(), NEVER)).era === 'modern');
  await connector.close();
});

test('a private discover result stays on its node; the era goes to all', async () => {
  const store = memoryStore();
  const secret = modernServer((m, child) => {
    if (m.method !== 'server/discover') return false;
    const capabilities = { experimental: { mine: {} } };
    ok(child, m, { supportedVersions: ['2026-07-28'], capabilities, cacheScope: 'private', instructions: 'psst' });
    return true;
  });
  const connector = connectorOf({ spawn: spawner(secret).spawn, store });
  assert.equal((await connector.profile(specOf(), NEVER)).instructions, 'psst');
  const [key] = await store.scan('lk:{acme}:era');
  const shared = JSON.parse((await store.get(key!))!) as Record<string, unknown>;
  assert.deepEqual([shared.era, shared.capabilities, shared.instructions], ['modern', {}, undefined]);
  await connector.close();
});
