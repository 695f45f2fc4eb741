// Field cases of class PROC: does every process that is started here end, does a sick one harm nobody, and is a dead one
// noticed?

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { openLegacySession } from '../harness/messages.ts';
import { descendants } from '../harness/process-tree.ts';
import {
  asker,
  assertCalm,
  call,
  ERAS,
  legacyAsker,
  logOf,
  modernAsker,
  namesOf,
  recorded,
  server,
  textOf,
} from './stage.ts';

const SILENT = Array.from({ length: 6 }, (_, n) => `silent-${n}`);

let lockkeeper: Lockkeeper;
let folder: string;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);
const running = (file: string) =>
  descendants(lockkeeper.process.pid).filter(
    ({ command }) => command.includes(`/${file}.mjs`) && !command.includes('setpriv'),
  );
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lockkeeper-proc-'));
  writeFileSync(join(folder, 'plain'), '');
  const names = [
    'good',
    'family',
    'exile',
    'visits',
    'crashes',
    'spam',
    'frail',
    'spins',
    'missing',
    'barred',
    ...SILENT,
  ];
  lockkeeper = await startStandalone({
    servers: [
      server('good', 'echo-legacy'),
      server('family', 'spawns-grandchild', { more: { pool: { idleMs: 1000 } } }),
      server('exile', 'spawns-grandchild', { env: { DETACHED: '1' }, more: { pool: { idleMs: 1000 } } }),
      server('visits', 'counter', { isolation: 'session', more: { pool: { idleMs: 1000 } } }),
      server('crashes', 'crashes-on-start'),
      server('spam', 'floods-stderr'),
      server('frail', 'crashes-mid-call'),
      recorded('spins', 'silent', join(folder, 'spins'), { env: { SPIN: '1' }, more: { startTimeoutMs: 800 } }),
      { name: 'missing', command: 'no-such-command', args: [] },
      { name: 'barred', command: join(folder, 'plain'), args: [] },
      ...SILENT.map((name) => server(name, 'silent', { more: { startTimeoutMs: 400 } })),
    ],
    routes: [
      ...names.map((name) => ({ path: `/acme/${name}/mcp`, tenant: 'acme', server: name })),
      { path: '/acme/some/mcp', tenant: 'acme', servers: ['spins', 'good'] },
    ],
    limits: { maxPerServer: 6, queueMs: 10_000, sessionIdleMs: 3000 },
  });
});
after(async () => {
  await lockkeeper?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const grandchild = async (name: string) => Number(textOf(await call(modernAsker(at(name)), 'grandchild')));

describe('GB-015: offspring', () => {
  for (const name of ['family', 'exile']) {
    it(`of an idle ${name} ends with it`, async () => {
      const pid = await grandchild(name);
      assert.ok(isAlive(pid));
      await eventually(() => assert.ok(!isAlive(pid)), { deadlineMs: 12_000, everyMs: 100 });
    });
  }
});

describe('GB-016: clients that never say goodbye', () => {
  it('leave no more processes than the cap while they come, and none when they are gone', async () => {
    let most = 0;
    const visit = async () => {
      const ask = await legacyAsker(at('visits'));
      assert.equal((JSON.parse(textOf(await call(ask, 'count'))) as { count: number }).count, 1);
      most = Math.max(most, running('counter').length);
    };
    for (let round = 0; round < 4; round++) await Promise.all(Array.from({ length: 5 }, visit));
    assert.ok(most > 0 && most <= 6, `${most} processes`);
    await eventually(() => assert.equal(running('counter').length, 0), { deadlineMs: 12_000, everyMs: 100 });
  });
});

describe('GB-017, GB-020: a server that never answers', () => {
  it('GB-017: has one process at most while it is tried, and none in between', async () => {
    const ask = modernAsker(at(SILENT[0]!));
    for (let n = 0; n < 20; n++) {
      const asking = ask('tools/list');
      assert.ok(running('silent').length <= 1);
      assert.match((await asking).error?.message ?? '', /could not be started: it did not answer initialize/);
    }
    await eventually(() => assert.equal(running('silent').length, 0), { deadlineMs: 10_000 });
  });

  it('GB-020: ends by its time-out without a trace, many at once, beside normal traffic', async () => {
    assert.equal(textOf(await call(modernAsker(at('good')), 'echo', { text: 'warm' })), 'warm');
    let done = false;
    const traffic = (async () => {
      let calls = 0;
      while (!done) {
        assert.equal(textOf(await call(modernAsker(at('good')), 'echo', { text: `${calls}` })), `${calls}`);
        calls++;
      }
      return calls;
    })();
    const failed = await Promise.all(SILENT.map((name) => call(modernAsker(at(name)), 'echo', { text: 'x' })));
    done = true;
    assert.ok((await traffic) > 2);
    for (const { result } of failed) assert.equal(result?.isError, true);
    await eventually(() => assert.equal(running('silent').length, 0), { deadlineMs: 10_000 });
    assertCalm(lockkeeper);
  });
});

describe('GB-018, GB-019, GB-025: a server that dies at its start', () => {
  it("GB-018: is an error in the time of a start for both eras, its stderr is the operator's", async () => {
    const called = await call(modernAsker(at('crashes')), 'any', {}, { id: 'q-7' });
    assert.equal(called.message?.id, 'q-7');
    const opened = await openLegacySession(at('crashes'));
    const { error } = opened.message as { error: { message: string } };
    for (const words of [textOf(called), error.message]) {
      assert.match(words, /server "crashes" could not be started: exited with code 1 before it answered/);
      assert.doesNotMatch(words, /boom/);
    }
    await eventually(() =>
      assert.match(
        JSON.stringify(logOf(lockkeeper).filter((line) => line.stderr !== undefined)),
        /boom: cannot find module/,
      ),
    );
  });

  it('GB-019: or that cannot be spawned at all, fails alone', async () => {
    const loop = Array.from({ length: 20 }, async (_, n) =>
      textOf(await call(modernAsker(at('good')), 'echo', { text: `${n}` })),
    );
    const [missing, barred] = await Promise.all(
      ['missing', 'barred'].map((name) => call(modernAsker(at(name)), 'any')),
    );
    assert.match(textOf(missing!), /command not found: no-such-command/);
    assert.match(textOf(barred!), /permission denied/);
    assert.deepEqual(
      await Promise.all(loop),
      Array.from({ length: 20 }, (_, n) => `${n}`),
    );
    assertCalm(lockkeeper);
  });

  it('GB-025: keeps its stdin for its whole life: an idle one is the same one later', async () => {
    const ask = modernAsker(at('frail'));
    assert.equal(textOf(await call(ask, 'echo', { text: 'x' })), 'x');
    const [before] = running('crashes-mid-call').map(({ pid }) => pid);
    assert.equal(textOf(await call(modernAsker(at('spam')), 'echo', { text: 'x' })), 'x');
    assert.equal(textOf(await call(ask, 'echo', { text: 'x' })), 'x');
    assert.ok(running('crashes-mid-call').some(({ pid }) => pid === before));
  });
});

describe('GB-021: a server that floods stderr', () => {
  it('answers all the same, and floods neither memory nor the log', async () => {
    for (const era of ERAS) {
      const ask = await asker(era, at('spam'));
      for (const newlines of [true, false]) assert.equal(textOf(await call(ask, 'spam', { newlines })), 'spammed');
      assert.equal(textOf(await call(ask, 'echo', { text: 'x' })), 'x');
    }
    assert.ok(lockkeeper.process.logs().split('spam spam').length < 200);
  });
});

describe('GB-023: a process that dies or goes deaf', () => {
  it('while idle is replaced at the next call', async () => {
    const ask = modernAsker(at('frail'));
    assert.equal(textOf(await call(ask, 'echo', { text: 'x' })), 'x');
    const [child] = running('crashes-mid-call');
    process.kill(child!.pid, 'SIGKILL');
    await eventually(() => assert.ok(!isAlive(child!.pid)));
    assert.equal(textOf(await call(ask, 'echo', { text: 'x' })), 'x');
  });

  for (const tool of ['crash', 'kill', 'close']) {
    it(`in the middle of a call (${tool}) fails that call with what may have happened, and the next is served`, async () => {
      const ask = modernAsker(at('frail'));
      const failed = await call(ask, tool);
      assert.equal(failed.result?.isError, true);
      assert.match(textOf(failed), /may have run in part/);
      await eventually(async () => assert.equal(textOf(await call(ask, 'echo', { text: 'x' })), 'x'), {
        deadlineMs: 15_000,
        everyMs: 100,
      });
    });
  }
});

describe('GB-023: what the operator sees of it', () => {
  it('GB-023: each end by its reason, and each start after it', async () => {
    const body = await (await fetch(`${lockkeeper.admin}/metrics`)).text();
    const count = (name: string) => Number(new RegExp(`^lockkeeper_pool_${name} (\\d+)$`, 'm').exec(body)?.[1]);
    const of = 'tenant="acme",server="frail"';
    assert.ok(count(`crashes_total\\{${of},reason="signal"\\}`) >= 1, body);
    assert.ok(count(`crashes_total\\{${of},reason="exit"\\}`) >= 1);
    assert.ok(count(`starts_total\\{${of}\\}`) >= 4);
    const { mishaps } = (await (await fetch(`${lockkeeper.admin}/pools`)).json()) as { mishaps: { server: string }[] };
    assert.ok(mishaps.filter((one) => one.server === 'frail').length >= 3);
  });
});

describe('GB-024: a server that burns its processor and never answers', () => {
  it('is tried once for all sessions, and the aggregate is served without it', async () => {
    const asks = await Promise.all(Array.from({ length: 20 }, (_, n) => asker(ERAS[n % 2]!, at('some'))));
    for (const answer of await Promise.all(asks.map((ask) => ask('tools/list')))) {
      assert.deepEqual(namesOf(answer), ['good__echo']);
    }
    const starts = readFileSync(join(folder, 'spins'), 'utf8').split('\n').filter(Boolean).length;
    // The probe, and what it fell back to.
    assert.ok(starts <= 4, `${starts} starts`);
    await eventually(() => assert.equal(running('recorded').length, 0), { deadlineMs: 10_000 });
  });
});

describe('GB-015: SIGTERM to Lockkeeper', () => {
  it('leaves nobody behind, not those who left the process group either', async () => {
    const pids = [await grandchild('family'), await grandchild('exile')];
    await lockkeeper.stop();
    for (const pid of pids) assert.ok(!isAlive(pid), String(pid));
  });
});
