// Fair queueing (design §5), over the wire: one caller's burst in front of everybody's one process. Nobody else waits for
// the end of it, and who cannot be served in time hears how long the queue is and when to come again.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../harness/eventually.ts';
import { createIssuer, type Issuer } from '../harness/issuer.ts';
import { type Lockkeeper, type ServerWish, startStandalone } from '../harness/lockkeeper.ts';
import { callModern } from '../harness/messages.ts';

const CHILD = fileURLToPath(new URL('../servers/says-anything.mjs', import.meta.url));
const BURST = 8;
const CALL_MS = 600;

let issuer: Issuer;

before(() => {
  issuer = createIssuer();
});
after(() => issuer?.close());

type Server = Pick<ServerWish, 'name' | 'tenant' | 'isolation' | 'more'>;

async function start(servers: readonly Server[], limits: Readonly<Record<string, unknown>>): Promise<Lockkeeper> {
  const tenants = ['acme', 'beta'];
  const claims = { tenant: 'tenant' };
  return startStandalone({
    servers: servers.map((server) => ({ isolation: 'exclusive', args: [CHILD], ...server })),
    tenants,
    routes: servers.map(({ name, tenant = 'acme' }) => ({ path: `/${tenant}/${name}/mcp`, tenant, server: name })),
    auth: { mode: 'jwt', issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants, claims }] },
    policy: servers.map(({ name, tenant = 'acme' }) => ({
      ...{ tenant, groups: ['dev'] },
      allow: [{ server: name, tools: ['*'] }],
    })),
    limits,
  });
}

/** One call that takes its time. */
async function call(keeper: Lockkeeper, server: string, sub: string, tenant = 'acme') {
  const url = keeper.route(`/${tenant}/${server}/mcp`);
  const token = issuer.token({ sub, tenant, audience: url });
  const params = { name: 'later', arguments: { ms: CALL_MS, text: sub } };
  const { message, headers, status } = await callModern(url, { method: 'tools/call', params, token });
  const { result } = message as { result?: { content: { text: string }[]; isError?: boolean } };
  return {
    text: result?.content[0]?.text ?? JSON.stringify(message),
    failed: result?.isError === true,
    headers,
    status,
  };
}

/** Calls that wait for a process, of all servers. */
async function waiting(keeper: Lockkeeper): Promise<number> {
  const text = await (await fetch(`${keeper.admin}/metrics`)).text();
  const rows = [...text.matchAll(/^lockkeeper_pool_waiting(?:\{.*\})? (\d+)$/gm)];
  assert.ok(rows.length > 0);
  return rows.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** How many of the burst's calls ended between the other's question and its answer. */
async function overtaken(
  keeper: Lockkeeper,
  burst: () => Promise<{ readonly text: string; readonly failed: boolean }>,
  other: () => Promise<{ readonly text: string }>,
): Promise<{ readonly before: number; readonly text: string }> {
  let ended = 0;
  const calls = Array.from({ length: BURST }, async () => {
    const said = await burst();
    ended++;
    assert.equal(said.failed, false, said.text);
  });
  await eventually(async () => (await waiting(keeper)) >= BURST - 3);
  const earlier = ended;
  const { text } = await other();
  const before = ended - earlier;
  await Promise.all(calls);
  return { before, text };
}

describe('the one process that everybody waits for', () => {
  it('is lent to people in turn: who asks once does not wait for the burst of another', async () => {
    const keeper = await start([{ name: 'one', more: { keepsNothing: true, pool: { max: 1 } } }], {});
    try {
      // Both are known: what a server declares is asked once for each person, and that takes a turn too.
      for (const person of ['alice', 'bob']) assert.equal((await call(keeper, 'one', person)).text, person);
      const { before, text } = await overtaken(
        keeper,
        () => call(keeper, 'one', 'alice'),
        () => call(keeper, 'one', 'bob'),
      );
      assert.equal(text, 'bob');
      // The one that ran, and one that was next already.
      assert.ok(before <= 3, `${before} calls of the burst came first`);
    } finally {
      await keeper.stop();
    }
  });

  it('is not filled by the burst of one where many share it', async () => {
    const keeper = await start([{ name: 'common', isolation: 'shared', more: { pool: { max: 1 } } }], {});
    try {
      for (const person of ['alice', 'bob']) assert.equal((await call(keeper, 'common', person)).text, person);
      const burst = Array.from({ length: 48 }, () => call(keeper, 'common', 'alice'));
      // What the process has not been given yet.
      await eventually(async () => assert.equal(await waiting(keeper), 48 - 32));
      const { text } = await call(keeper, 'common', 'bob');
      assert.equal(text, 'bob');
      for (const said of await Promise.all(burst)) assert.equal(said.text, 'alice');
    } finally {
      await keeper.stop();
    }
  });

  it('has room made for tenants in turn, where it is the node that is full', async () => {
    const keeper = await start(
      [
        { name: 'a', more: { pool: { max: 8 } } },
        { name: 'b', tenant: 'beta', more: { pool: { max: 8 } } },
      ],
      { maxPerNode: 1 },
    );
    try {
      assert.equal((await call(keeper, 'b', 'bob', 'beta')).text, 'bob');
      assert.equal((await call(keeper, 'a', 'alice')).text, 'alice');
      const { before, text } = await overtaken(
        keeper,
        () => call(keeper, 'a', 'alice'),
        () => call(keeper, 'b', 'bob', 'beta'),
      );
      assert.equal(text, 'bob');
      assert.ok(before <= 3, `${before} calls of the other tenant came first`);
    } finally {
      await keeper.stop();
    }
  });

  it('is busy for who cannot have it in time: how many wait, for how many processes, and when to come again', async () => {
    const keeper = await start([{ name: 'full', more: { keepsNothing: true, pool: { max: 1 } } }], { queueMs: 300 });
    try {
      assert.equal((await call(keeper, 'full', 'warm')).text, 'warm');
      const said = await Promise.all(Array.from({ length: BURST }, () => call(keeper, 'full', 'alice')));
      const refused = said.filter(({ failed }) => failed);
      assert.ok(refused.length > 0 && refused.length < BURST, `${refused.length} of ${BURST} were refused`);
      for (const { text } of refused) {
        assert.match(
          text,
          /Server "full" is busy: all processes of this server are busy; \d+ calls? waits?, 1 process runs/,
        );
        assert.match(text, /Try again/);
      }
      assert.equal(await waiting(keeper), 0);
    } finally {
      await keeper.stop();
    }
  });
});
