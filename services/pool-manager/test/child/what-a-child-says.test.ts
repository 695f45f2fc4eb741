// The FRM cases of field-cases.md and auth-security I-12 to I-14, on real pipes.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import { fixture, serverSpec, start, testSpawn } from './started.ts';

const TEXT = 'a—b 😀 漢';

describe('what a child says', () => {
  it('GB-029: noise on stdout is dropped and told; the answer comes through and the child lives on', async () => {
    const started = start(fixture('writes-garbage'));
    assert.equal(await started.call('echo', { text: 'a' }), 'a');
    assert.equal(await started.call('echo', { text: 'b' }), 'b');
    const told = started.faults.map(({ detail }) => detail.replace(/^.*so far\): /, ''));
    assert.deepEqual(told.slice(0, 4), ['Server v1.2 ready', '[info] {not json', '123', 'null']);
    assert.equal(started.child.exited, null);
    await started.child.stop('test');
  });

  it('I-13: ten lines in a row that are no messages are said to be unhealthy, once a row', async () => {
    const started = start(fixture('writes-garbage'));
    await started.call('garbage', { lines: 35 });
    await started.call('garbage', { lines: 8 });
    const unhealthy = started.faults.filter(({ detail }) => detail.startsWith('unhealthy'));
    assert.equal(unhealthy.length, 1);
    await started.child.stop('test');
  });

  it('I-13: a flood of such lines ends the child', async () => {
    const flood = start(serverSpec({ args: ['-e', 'for (let i = 0; i < 20000; i++) console.log("no message")'] }));
    const reason = await flood.exit();
    assert.equal(reason.words, 'flooded its output with lines that are no messages');
    assert.ok(flood.faults.length < 50);
  });

  it('a line that is not UTF-8 is dropped, its neighbours are not', async () => {
    const started = start(fixture('writes-garbage'));
    assert.equal(await started.call('bytes'), 'noise');
    assert.ok(started.faults.some(({ kind }) => kind === 'not-utf8'));
    await started.child.stop('test');
  });

  it('the answer that a child was writing when it died is nobody’s broken answer: its death is told', async () => {
    const cut = '{"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"te';
    const said = start(serverSpec({ args: ['-e', `process.stdout.write(${JSON.stringify(cut)})`] }));
    await said.exit();
    assert.deepEqual(
      said.faults.map(({ kind, id }) => [kind, id ?? null]),
      [['not-json', null]],
    );
  });

  it('of a line that is no JSON but begins as an answer it is said whose it was', async () => {
    const deep = `${'['.repeat(10_001)}${']'.repeat(10_001)}`;
    const lines = [
      `{"jsonrpc":"2.0","id":5,"result":{"a":${deep}}}`,
      '{"result":{"a":"\u0000"},"id":6}',
      '{"id":7,"x":',
    ];
    const said = start(serverSpec({ args: ['-e', lines.map((l) => `console.log(${JSON.stringify(l)})`).join(';')] }));
    await said.exit();
    assert.deepEqual(
      said.faults.map(({ kind, id }) => [kind, id ?? null]),
      [
        ['not-json', '5'],
        ['not-json', '6'],
        ['not-json', null],
      ],
    );
  });

  for (const env of [{}, { SPLIT: 'bytes' }, { CRLF: '1' }, { BOM: '1' }] as Record<string, string>[]) {
    it(`GB-030, GB-031: text arrives byte for byte, cut as it may be ${JSON.stringify(env)}`, async () => {
      const started = start(fixture('splits-utf8', env));
      assert.equal(await started.call('echo', { text: TEXT }), TEXT);
      await started.child.stop('test');
    });
  }

  it('GB-031 a: a 3 MB answer in many chunks', async () => {
    const started = start(fixture('big-result'), testSpawn({ maxLineBytes: () => 4_000_000 }));
    assert.equal((await started.call('big', { size: 3_000_000 })).length, 3_000_000);
    await started.child.stop('test');
  });

  it('GB-032: a line over the cap costs its own answer only, and says whose it was', async () => {
    const started = start(fixture('endless-line'), testSpawn({ maxLineBytes: () => 100_000 }));
    await started.call('echo', { text: 'before' });
    started.child.send(
      Buffer.from(
        '{"jsonrpc":"2.0","id":"big-1","method":"tools/call","params":{"name":"endless","arguments":{"bytes":300000}}}',
      ),
    );
    assert.equal(await started.call('echo', { text: 'after' }), 'after');
    const [fault] = started.faults;
    assert.deepEqual([fault?.kind, fault?.id], ['line-too-long', '"big-1"']);
    await started.child.stop('test');
  });

  it('T-60: a line that never ends ends the child', async () => {
    const started = start(fixture('endless-line'), testSpawn({ maxLineBytes: () => 10_000 }));
    started.child.send(
      Buffer.from(
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"endless","arguments":{"end":false}}}',
      ),
    );
    assert.equal((await started.exit()).words, 'wrote a line without end');
  });

  it('the last words of a child that exits are read before its exit is told', async () => {
    const script = 'process.stdout.write(JSON.stringify({pad: "x".repeat(500000)}) + "\\n", () => process.exit(0))';
    for (let i = 0; i < 5; i++) {
      const started = start(serverSpec({ args: ['-e', script] }));
      await started.exit();
      assert.equal(started.lines.length, 1);
    }
  });

  for (const newlines of [true, false]) {
    it(`GB-021: 200 KB on stderr ${newlines ? 'in lines' : 'without a newline'} hold up nothing`, async () => {
      const started = start(fixture('floods-stderr'));
      assert.equal(await started.call('spam', { newlines }), 'spammed');
      assert.equal(await started.call('spam', { newlines }), 'spammed');
      assert.equal(await started.call('echo', { text: 'a' }), 'a');
      await eventually(() => started.child.stderrTail().length > 0);
      assert.ok(started.child.stderrTail().length <= 16 * 1024);
      await started.child.stop('test');
    });
  }

  it('I-14: stderr is shown without secrets and control characters', async () => {
    const env = { API_TOKEN: 'hunter2hunter2', LEAK: 'hunter2hunter2 \u001b[31mred Bearer abcdefghijk' };
    const started = start(fixture('floods-stderr', env));
    await eventually(() => started.child.stderrTail().includes('red'));
    assert.equal(started.child.stderrTail(), 'using [redacted] \\u001b[31mred Bearer [redacted]\n');
    await started.child.stop('test');
  });
});

describe('what a child is told', () => {
  it('GB-033: raw line breaks inside a message never reach it', async () => {
    const started = start(fixture('echo-legacy'));
    started.child.send(Buffer.from('{"jsonrpc":"2.0",\r\n"id":"nl",\n"method":"tools/list","params":{}}'));
    await eventually(() => started.lines.some((line) => line.includes('"id":"nl"')));
    assert.equal(started.child.exited, null);
    await started.child.stop('test');
  });

  it('megabytes go through back-pressure unharmed', async () => {
    const started = start(fixture('echo-legacy'), testSpawn({ maxLineBytes: () => 8_000_000 }));
    const text = 'y'.repeat(3_000_000);
    assert.equal(await started.call('echo', { text }), text);
    await started.child.stop('test');
  });

  it('I-12: the queue to a child that does not read is bounded, and the child is ended', async () => {
    const patience = { closeMs: 200, termMs: 200, goneMs: 2000, stallMs: 300, drainMs: 200 };
    const started = start(fixture('silent', { SPIN: '1' }), testSpawn({ patience }));
    const message = Buffer.from(JSON.stringify({ pad: 'x'.repeat(100_000) }));
    let taken = 0;
    for (; started.child.takes(message.length); taken++) started.child.send(message);
    assert.ok(taken >= 70 && taken < 120, `${taken}`);
    while (started.child.send(message)) taken++;
    assert.ok(taken < 200, `${taken}`);
    const reason = await started.exit();
    assert.match(reason.words, /^did not read its input/);
    assert.equal(started.child.send(message), false);
    await started.child.stop('test');
  });

  it('a child that closes its input and lives on is ended when that is noticed', async () => {
    const script = 'require("fs").closeSync(0); console.log("{}"); setInterval(() => {}, 1000)';
    const started = start(serverSpec({ args: ['-e', script] }));
    await eventually(() => started.lines.length > 0);
    started.child.send(Buffer.from('{}'));
    assert.equal((await started.exit()).words, 'closed its input');
    await started.child.stop('test');
  });

  it('pause stops reading, resume goes on; the end comes through a pause', async () => {
    const started = start(fixture('echo-legacy'));
    await started.call('echo', { text: 'a' });
    started.child.pause();
    started.child.send(Buffer.from('{"jsonrpc":"2.0","id":"p","method":"ping"}'));
    started.child.resume();
    await eventually(() => started.lines.some((line) => line.includes('"id":"p"')));
    started.child.pause();
    await started.child.stop('test');
    assert.equal(started.exits.length, 1);
  });
});
