// What one server takes too much of, memory, output or the operator's patience, costs it its process: its caller reads why,
// the numbers have it by reason, and nobody else notices.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { call, modernAsker, server, textOf } from '../field-cases/stage.ts';
import { eventually } from '../harness/eventually.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { type RawUpstream, startRawUpstream } from '../servers/http/raw-upstream.ts';

const TOKEN = 'a-token-of-the-operator';
const CLI = fileURLToPath(new URL('../../services/state/src/cli/pool.ts', import.meta.url));
const run = promisify(execFile);

interface Shown {
  readonly id: string;
  readonly server: string;
  readonly pid: number;
  readonly memoryBytes: number | null;
}

let lockkeeper: Lockkeeper;
let far: RawUpstream;
const ask = (name: string) => modernAsker(lockkeeper.route(`/acme/${name}/mcp`));
const say = async (name: string) => textOf(await call(ask(name), 'echo', { text: 'x' }));
const numbers = async () => (await fetch(`${lockkeeper.admin}/metrics`)).text();
const counted = (line: string) => eventually(async () => assert.ok((await numbers()).includes(line), line));

async function shown(name: string): Promise<Shown[]> {
  const { processes } = (await (await fetch(`${lockkeeper.admin}/pools`)).json()) as { processes: Shown[] };
  return processes.filter((one) => one.server === name);
}

/** As an operator types it. */
async function cli(...words: string[]): Promise<string> {
  const env = { ...process.env, LOCKKEEPER_ADMIN_TOKEN: TOKEN };
  return (await run(process.execPath, [CLI, ...words, '--admin', lockkeeper.admin], { env })).stdout.trim();
}

before(async () => {
  far = await startRawUpstream({ kind: 'legacy' });
  lockkeeper = await startStandalone({
    servers: [
      server('good', 'echo-legacy'),
      server('hog', 'greedy', { more: { pool: { maxMemoryMb: 200, hardMemoryMb: 350 } } }),
      server('mute', 'greedy', {
        env: { HOARD_MB: '380' },
        more: { startTimeoutMs: 600_000, pool: { maxMemoryMb: 200, hardMemoryMb: 350 } },
      }),
      server('loud', 'greedy'),
      server('waits', 'never-answers'),
      { name: 'far', http: { url: far.url } },
    ],
    limits: { maxLinesPerSecond: 2000 },
    listen: { adminToken: TOKEN },
  });
});
after(async () => {
  await lockkeeper?.stop();
  await far?.close();
});

describe('a server that keeps memory', () => {
  it('is replaced when it is free, and its caller notices nothing', async () => {
    assert.equal(await say('hog'), 'x');
    const [{ pid }] = (await shown('hog')) as [Shown];
    assert.equal(textOf(await call(ask('hog'), 'grow', { mb: 220 })), 'done');
    await counted('lockkeeper_pool_ended_total{tenant="acme",server="hog",reason="memory"} 1\n');
    assert.equal(await say('hog'), 'x');
    await eventually(async () => assert.ok((await shown('hog')).every((one) => one.pid !== pid)));
  });

  it('is ended in the middle of a call over the hard cap, and its caller reads why', async () => {
    assert.equal(await say('good'), 'x');
    const failed = await call(ask('hog'), 'hoard', { mb: 380 });
    assert.equal(failed.result?.isError, true);
    assert.equal(
      textOf(failed),
      'Server "hog" was lost during the call (used more than 350 MB of memory and was ended); it may have run in part. ' +
        'Check what it did before calling again.',
    );
    await counted('lockkeeper_pool_ended_total{tenant="acme",server="hog",reason="memory"} 2\n');
    assert.equal(await say('good'), 'x');
  });
});

describe('a server that keeps memory before it has said a word', () => {
  it('is ended long before its start is given up, and its caller and the operator read why', async () => {
    const failed = await call(ask('mute'), 'echo', { text: 'x' });
    assert.equal(failed.result?.isError, true);
    assert.match(textOf(failed), /server "mute" could not be started: used more than 350 MB of memory and was ended/);
    await counted('lockkeeper_pool_start_failures_total{tenant="acme",server="mute"} 1\n');
    assert.deepEqual(await shown('mute'), []);
    assert.equal(await say('good'), 'x');
  });
});

describe('a server that floods its output', () => {
  it('is ended, its caller reads why, and it is counted as its own fault', async () => {
    const failed = await call(ask('loud'), 'flood');
    assert.match(textOf(failed), /\(flooded its output: more than 2000 lines a second\); it may have run in part/);
    await counted('lockkeeper_pool_crashes_total{tenant="acme",server="loud",reason="flood"} 1\n');
    assert.equal(await say('good'), 'x');
  });

  it('by URL too', async () => {
    const method = 'notifications/message';
    far.when('tools/call', (reply) => {
      const stream = reply.stream();
      for (let n = 0; n < 21_000; n++)
        stream.event({ data: { jsonrpc: '2.0', method, params: { level: 'debug', n } } });
    });
    const failed = await call(ask('far'), 'echo');
    assert.match(textOf(failed), /\(flooded its output: more than 2000 events a second\); it may have run in part/);
    await counted('lockkeeper_pool_crashes_total{tenant="acme",server="far",reason="flood"} 1\n');
  });
});

describe('the operator', () => {
  it('sees every process with what it uses, and restarts one', async () => {
    assert.equal(await say('good'), 'x');
    await eventually(async () => assert.ok(((await shown('good'))[0]?.memoryBytes ?? 0) > 0));
    const [{ id, pid }] = (await shown('good')) as [Shown];
    assert.match(await cli('list'), new RegExp(`^${id} +acme +good +legacy +idle +.*\\d MB +\\d+% +${pid}$`, 'm'));
    assert.equal(await cli('restart', id), `restart: ${id}`);
    await eventually(async () => {
      const [next, ...more] = await shown('good');
      assert.ok(next !== undefined && next.id !== id && more.length === 0);
    });
    await counted('lockkeeper_pool_ended_total{tenant="acme",server="good",reason="operator"} 1\n');
  });

  it('ends all processes of a server in the middle of their calls, whose callers are told', async () => {
    const failing = call(ask('waits'), 'wait');
    await eventually(async () => assert.equal((await shown('waits')).length, 1));
    await eventually(async () => assert.match(await numbers(), /pool_leases\{tenant="acme",server="waits"\} 1\n/));
    assert.match(await cli('evict', '--server', 'acme/waits'), /^evict: \S+$/);
    assert.match(textOf(await failing), /\(the operator ended it\); it may have run in part/);
  });

  it('is told what is wrong with an order', async () => {
    await assert.rejects(cli('evict', 'no-such'), /there is no such process here/);
    await assert.rejects(cli('evict'), /usage: npm run pool/);
    await assert.rejects(cli('list', '--server', 'acme/good'), /usage/);
  });
});
