// Field cases of class START, and every way in which a server cannot be started: does its caller hear why in time, and the
// operator what the server said, and does nothing else suffer?

import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../harness/eventually.ts';
import { type Lockkeeper, type ServerWish, startStandalone } from '../harness/lockkeeper.ts';
import { callLegacy, openLegacySession } from '../harness/messages.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';
import { listen, openStream, tool, toolNames } from '../listen/ears.ts';
import { assertCalm, call, fileOf, type Json, logOf, modernAsker, namesOf, recorded, server, textOf } from './stage.ts';

let lockkeeper: Lockkeeper;
let folder: string;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);

interface Failing {
  readonly name: string;
  readonly why: RegExp;
  readonly wish: ServerWish;
  /** Of stderr, in the operator's log. */
  readonly tail?: string;
}

function failing(): readonly Failing[] {
  const script = (name: string, mode: number, text: string) => {
    const file = join(folder, name);
    writeFileSync(file, text);
    chmodSync(file, mode);
    return file;
  };
  const short = { more: { startTimeoutMs: 700 } };
  const cwd = { command: process.execPath, args: [fileOf('echo-legacy')], cwd: '/no/such/folder' };
  const endless = "setInterval(() => console.log('still here'), 20)";
  const usage = "console.error('usage: serve PORT'); process.exit(2)";
  return [
    {
      name: 'no-command',
      why: /command not found: no-such-command$/,
      wish: { name: 'no-command', command: 'no-such-command', args: [] },
    },
    {
      name: 'not-executable',
      why: /permission denied: .*plain is not executable$/,
      wish: { name: 'not-executable', command: script('plain', 0o644, '#!/bin/sh\n'), args: [] },
    },
    {
      name: 'no-interpreter',
      why: /could not be executed: No such file or directory \(is the interpreter/,
      wish: { name: 'no-interpreter', command: script('script', 0o755, '#!/no/such/interpreter\n'), args: [] },
    },
    {
      name: 'no-folder',
      why: /working directory not found: \/no\/such\/folder$/,
      wish: server('no-folder', 'echo-legacy', { more: { stdio: cwd } }),
    },
    {
      name: 'exits',
      why: /exited with code 1 before it answered$/,
      wish: server('exits', 'crashes-on-start'),
      tail: 'boom: cannot find module',
    },
    {
      name: 'exits-well',
      why: /exited with code 0 before it answered$/,
      wish: server('exits-well', 'crashes-on-start', { env: { EXIT_CODE: '0' } }),
      tail: 'boom',
    },
    {
      name: 'wants-more',
      why: /exited with code 2 before it answered$/,
      wish: { name: 'wants-more', args: ['-e', usage] },
      tail: 'usage: serve PORT',
    },
    { name: 'hangs', why: /did not answer initialize within 700 ms$/, wish: server('hangs', 'silent', short) },
    {
      name: 'babbles',
      why: /did not answer initialize within 700 ms$/,
      wish: { name: 'babbles', args: ['-e', endless], ...short },
    },
    {
      name: 'wrong-revision',
      why: /protocol version "1999-12-31"; Lockkeeper speaks 2025-11-25/,
      wish: server('wrong-revision', 'invalid-initialize'),
    },
    {
      name: 'wrong-shape',
      why: /answer to initialize is not an object$/,
      wish: server('wrong-shape', 'invalid-initialize', { env: { MODE: 'shape' } }),
    },
    {
      name: 'refuses',
      why: /refused initialize with error -32000: not today$/,
      wish: server('refuses', 'invalid-initialize', { env: { MODE: 'error' } }),
    },
  ];
}

let cases: readonly Failing[];

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lockkeeper-start-'));
  cases = failing();
  const good = join(folder, 'good');
  lockkeeper = await startStandalone({
    servers: [
      ...cases.map(({ wish }) => wish),
      server('good', 'echo-legacy'),
      server('exits-on-probe', 'exits-on-probe'),
      server('slow', 'slow-start', { env: { START_MS: '1200' }, more: { startTimeoutMs: 5000, callTimeoutMs: 500 } }),
      recorded('mended', 'crashes-on-start', join(folder, 'mended'), { env: { GOOD_FILE: good, EXIT_AFTER_MS: '50' } }),
    ],
  });
});
after(async () => {
  await lockkeeper?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('a server that cannot be started', () => {
  it('tells each caller why within its deadline, and the operator what it said, under the id that the caller has', async () => {
    // All at once: a machine that starts a dozen processes anyway need not do it one after the other.
    await Promise.all(
      cases.map(async ({ name, why, tail }) => {
        const { status, result, message } = await call(modernAsker(at(name)), 'any');
        assert.deepEqual([status, result?.isError], [200, true], JSON.stringify(message));
        const words = (result!.content as { text: string }[])[0]!.text;
        const said =
          /^server "([^"]+)" could not be started: (.+)\. Tell the operator; the reason is in the log under this exchange id\.$/.exec(
            words,
          );
        assert.equal(said?.[1], name, words);
        assert.match(said![2]!.replace(/ \(the next try is in \d+ s\)$/, ''), why);
        assert.ok(!words.includes('boom') && !words.includes('usage'));
        const { 'lockkeeper/exchange': xid, 'lockkeeper/reason': reason } = result!._meta as Record<string, string>;
        assert.equal(reason, 'start-failed');
        const reasons = () => logOf(lockkeeper).filter((line) => line.xid === xid && typeof line.reason === 'string');
        await eventually(() => assert.equal(reasons().length, 1));
        assert.ok(String(reasons()[0]!.reason).includes(said![2]!), String(reasons()[0]!.reason));
        if (tail === undefined) return;
        const tails = () => logOf(lockkeeper).filter((line) => line.server === name && typeof line.stderr === 'string');
        await eventually(() => assert.match(JSON.stringify(tails()), new RegExp(tail)));
      }),
    );
  });

  it('tells a legacy client in the answer to initialize, as a JSON-RPC error under its id', async () => {
    for (const { name } of cases) {
      const { status, headers, session, message } = await openLegacySession(at(name));
      const { id, error } = message as { id: number; error: { code: number; message: string } };
      assert.deepEqual([status, id, error.code], [200, 1, 10003]);
      assert.match(error.message, new RegExp(`^server "${name}" could not be started: `));
      if (session === null) continue;
      // A stream had to begin before it was known that there would be no session: its id is nobody's.
      assert.match(headers.get('content-type') ?? '', /event-stream/);
      const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
      assert.equal((await callLegacy(at(name), { session, message: ping })).status, 404);
    }
  });

  it('is left out of an aggregate, which says so and why', async () => {
    const { result } = await modernAsker(lockkeeper.route('/acme/mcp'))('tools/list');
    const out = (result!._meta as Json)['lockkeeper/unavailable'] as { server: string; message: string }[];
    for (const { name } of cases) {
      const one = out.find((each) => each.server === name);
      assert.match(one?.message ?? '', new RegExp(`^server "${name}" could not be started: `));
    }
    assert.ok(namesOf({ result } as never).includes('good__echo'));
  });

  it('harms nobody else', async () => {
    assert.equal(textOf(await call(modernAsker(at('good')), 'echo', { text: 'x' })), 'x');
    assert.equal(textOf(await call(modernAsker(at('exits-on-probe')), 'echo', { text: 'x' })), 'x');
    assertCalm(lockkeeper);
  });
});

describe('GB-026: a slow start', () => {
  it('has a time of its own, apart from the time of a call', async () => {
    assert.equal(textOf(await call(modernAsker(at('slow')), 'echo', { text: 'x' })), 'x');
  });

  it('does not hold up an aggregate: it is served without that server, and both eras are told when it comes', async () => {
    const gate = join(folder, 'gate');
    const late = server('late', 'slow-start', { env: { START_FILE: gate }, more: { startTimeoutMs: 90_000 } });
    const wish = { servers: [server('quick', 'tells-changes'), late], limits: { aggregateWaitMs: 3_000 } };
    const keeper = await startStandalone(wish);
    try {
      const url = keeper.route('/acme/mcp');
      await modernAsker(keeper.route('/acme/quick/mcp'))('tools/list');
      const { result } = await modernAsker(url)('tools/list');
      const [left] = (result!._meta as Json)['lockkeeper/unavailable'] as { server: string; reason: string }[];
      assert.deepEqual([left?.server, left?.reason], ['late', 'starting']);
      assert.equal((await toolNames(url)).includes('late__echo'), false);
      const ears = await listen(url, { toolsListChanged: true });
      const { session } = await openLegacySession(url);
      const stream = await openStream(url, session ?? assert.fail('no session'));
      await tool(url, 'quick__grow', { name: 'heard' });
      await Promise.all([ears.wait('tools/list_changed'), stream.wait('tools/list_changed')]);
      assert.deepEqual([ears.count('tools/list_changed'), stream.count('tools/list_changed')], [1, 1]);
      writeFileSync(gate, '');
      await Promise.all([ears.wait('tools/list_changed', 2), stream.wait('tools/list_changed', 2)]);
      assert.ok((await toolNames(url)).includes('late__echo'));
      ears.close();
      stream.close();
    } finally {
      await keeper.stop();
    }
  });
});

describe('GB-027: a server that exits at once', () => {
  it('is started a few times however often it is asked for, and serves once it works', async () => {
    const ask = modernAsker(at('mended'));
    for (let n = 0; n < 40; n++) {
      assert.equal((await call(ask, 'echo', { text: 'x' })).result?.isError, true);
    }
    const starts = readFileSync(join(folder, 'mended'), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('start')).length;
    assert.ok(starts <= 12, `${starts} starts`);
    writeFileSync(join(folder, 'good'), '');
    await eventually(async () => assert.equal(textOf(await call(ask, 'echo', { text: 'x' })), 'x'), {
      deadlineMs: 20_000,
      everyMs: 250,
    });
  });
});

describe('GB-028: a failed start', () => {
  let redis: StartedRedis;
  before(async () => {
    redis = await startRedis();
  });
  after(() => redis?.stop());

  it('is forgotten with its process: after a restart the server is simply started', async () => {
    const good = join(folder, 'repaired');
    const wish = {
      servers: [server('fixed', 'crashes-on-start', { env: { GOOD_FILE: good } })],
      more: { state: redis.url },
    };
    const first = await startStandalone(wish);
    try {
      assert.equal(
        (await call(modernAsker(first.route('/acme/fixed/mcp')), 'echo', { text: 'x' })).result?.isError,
        true,
      );
    } finally {
      await first.stop();
    }
    writeFileSync(good, '');
    const second = await startStandalone(wish);
    try {
      assert.equal(textOf(await call(modernAsker(second.route('/acme/fixed/mcp')), 'echo', { text: 'x' })), 'x');
    } finally {
      await second.stop();
    }
  });
});
