import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { idOfBrokenLine, idOfLongLine } from '../../src/framing/long-line.ts';
import { createLineSplitter, type LongLine, oneLine } from '../../src/framing/ndjson.ts';

interface Seen {
  readonly lines: string[];
  readonly long: LongLine[];
}

function split(cap: number, chunks: readonly (Uint8Array | string)[]): Seen {
  const seen: Seen = { lines: [], long: [] };
  const splitter = createLineSplitter(cap, {
    line: (bytes) => void seen.lines.push(Buffer.from(bytes).toString('utf8')),
    tooLong: (line) => void seen.long.push(line),
  });
  for (const chunk of chunks) splitter.push(Buffer.from(chunk));
  splitter.end();
  return seen;
}

const bytewise = (text: string) => Array.from(Buffer.from(text), (byte) => Uint8Array.of(byte));

describe('the line splitter', () => {
  const cases: readonly [string, string, readonly string[]][] = [
    ['three lines in one chunk', 'a\nb\nc\n', ['a', 'b', 'c']],
    ['\\r\\n', 'a\r\nb\r\n', ['a', 'b']],
    ['a \\r inside stays', 'a\rb\n', ['a\rb']],
    ['blank lines are nothing', '\n\r\n  \t\na\n\n', ['a']],
    ['a last line without its newline', 'a\nb', ['a', 'b']],
    ['U+2028 is no line end (GB-031 e)', '"a\u2028b"\n', ['"a\u2028b"']],
    ['a byte order mark on the first line only (GB-031 f)', '\uFEFFa\n\uFEFFb\n', ['a', '\uFEFFb']],
  ];
  for (const [name, text, expected] of cases) {
    it(`${name}: whole and byte by byte alike`, () => {
      assert.deepEqual(split(100, [text]).lines, expected);
      assert.deepEqual(split(100, bytewise(text)).lines, expected);
    });
  }

  it('GB-030: characters come whole out of chunks cut inside them', () => {
    const text = 'a—b 😀 漢';
    assert.deepEqual(split(100, bytewise(`${text}\n`)).lines, [text]);
  });

  it('gives the same lines for any text and any cut', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 });
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 50 }), (chunks, cap) => {
        const cut = split(cap, chunks);
        const whole = split(cap, [Buffer.concat(chunks)]);
        assert.deepEqual(cut.lines, whole.lines);
        assert.equal(cut.long.length, whole.long.length);
      }),
    );
  });

  it('does not copy a line that lies in one chunk', () => {
    const chunk = Buffer.from('hello\nyou\n');
    const lines: Uint8Array[] = [];
    const splitter = createLineSplitter(100, { line: (l) => void lines.push(l), tooLong: () => assert.fail() });
    splitter.push(chunk);
    assert.deepEqual(
      lines.map((l) => l.buffer === chunk.buffer),
      [true, true],
    );
  });

  it('GB-032: the cap holds for the line, not for a prefix, however it is cut', () => {
    const cap = 100_000;
    for (const ending of ['\n', '\r\n']) {
      for (const step of [cap * 2, 4096, 1]) {
        const text = `${'x'.repeat(cap)}${ending}${'y'.repeat(cap + 1)}${ending}z${ending}`;
        const bytes = Buffer.from(text);
        const chunks: Uint8Array[] = [];
        for (let i = 0; i < bytes.length; i += step) chunks.push(bytes.subarray(i, i + step));
        const seen = split(cap, chunks);
        assert.deepEqual(
          seen.lines.map((l) => l.length),
          [cap, 1],
        );
        assert.equal(seen.long.length, 1);
      }
    }
  });

  it('discards an endless line in bounded memory and says how much of it there was so far', () => {
    let long = 0;
    const splitter = createLineSplitter(1000, { line: () => assert.fail(), tooLong: () => long++ });
    const chunk = Buffer.alloc(64 * 1024, 'x');
    for (let i = 0; i < 1000; i++) splitter.push(chunk);
    assert.equal(splitter.discarding, 1000 * 64 * 1024);
    assert.equal(long, 0);
    splitter.end();
    assert.deepEqual([long, splitter.discarding], [1, 0]);
  });
});

describe('the id of a discarded line', () => {
  const pad = 'x'.repeat(2000);
  const cases: readonly [string, string | null][] = [
    [`{"jsonrpc":"2.0","id":7,"result":{"id":1,"t":"${pad}"}}`, '7'],
    [`{"id":"a-7", "jsonrpc":"2.0","result":{"t":"${pad}"}}`, '"a-7"'],
    [`{"result":{"t":"${pad}"},"jsonrpc":"2.0","id":7}`, '7'],
    [`{"result":{"t":"${pad}"},"id":7,"jsonrpc":"2.0"}\r`, '7'],
    [`{"jsonrpc":"2.0","result":{"id":5,"t":"${pad}"}}`, null],
    [`{"result":{"t":"${pad}","id":5}}`, null],
    [pad, null],
  ];
  for (const [line, id] of cases) {
    it(`${line.slice(0, 40)}… is ${id}`, () => {
      const [long] = split(1000, [line]).long;
      assert.equal(idOfLongLine(long!), id);
    });
  }
});

describe('the id of a line that is no JSON', () => {
  const cases: readonly [string, string | null][] = [
    ['{"jsonrpc":"2.0","id":7,"result":{"t":"a\u0000b"}}', '7'],
    ['{"result":{"t":"a\u0000b"},"jsonrpc":"2.0","id":7}', '7'],
    ['{"id":"a-7","jsonrpc":"2.0","error":{"code":1 2}}', '"a-7"'],
    ['{"jsonrpc":"2.0","id":7,"result":{"t":', '7'],
    ['{"jsonrpc":"2.0","id":7,"method":"roots/list",}', null],
    ['{"level":"info","id":7,"result":{"t":1 2},"id":7}', null],
    ['[info] {"jsonrpc":"2.0","id":7,"result":{}}', null],
  ];
  for (const [line, id] of cases) {
    it(`${JSON.stringify(line)} is ${id}`, () => assert.equal(idOfBrokenLine(Buffer.from(line)), id));
  }
});

describe('a message made one line', () => {
  it('GB-033: raw line breaks between tokens become blanks, nothing else changes', () => {
    const message = Buffer.from('{\r\n"a":"\\n",\n"b":1}');
    assert.equal(Buffer.from(oneLine(message)).toString(), '{  "a":"\\n", "b":1}');
    const flat = Buffer.from('{"a":1}');
    assert.equal(oneLine(flat), flat);
  });
});
