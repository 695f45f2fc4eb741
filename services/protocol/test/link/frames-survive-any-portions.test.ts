import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { encodeMessage, FrameBuffer, LongMessage } from '../../src/link/codec.ts';
import { FrameDecoder } from '../../src/link/decoder.ts';
import type { Head } from '../../src/link/frames.ts';
import { headText, parseHead } from '../../src/link/heads.ts';
import { openHead } from './wire.ts';

interface Got {
  stream: number;
  seq: number;
  head: Head;
  body: string;
}

function decoderInto(got: Got[], parts: number[] = []): FrameDecoder {
  return new FrameDecoder(
    {
      message: ({ stream, seq, head, body, total, fresh }) => {
        assert.ok(fresh <= total);
        got.push({ stream, seq, head, body: Buffer.from(body).toString('latin1') });
      },
      part: (_stream, n) => parts.push(n),
      aborted: () => undefined,
    },
    64 * 1024 * 1024,
  );
}

const text = fc.string({ maxLength: 40, unit: 'grapheme' });
const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

/** Drops members that are undefined, as the wire does. */
const plain = (head: object): Head => JSON.parse(JSON.stringify(head));

const open = fc
  .record({
    xid: text,
    method: text,
    name: some(text),
    session: fc.option(text, { nil: null }),
    logLevel: some(fc.constant('debug' as const)),
    meta: some(text),
    state: some(text),
    incarnation: some(text),
    wait: some(fc.boolean()),
    fromSeq: some(fc.nat()),
    trace: some(fc.record({ traceparent: text })),
    capabilities: fc.constantFrom({}, { sampling: { tools: {} } }),
  })
  .map((fields) => plain({ ...openHead(7), ...fields }));
const result = fc
  .record({
    seq: fc.nat(),
    resultType: fc.constantFrom('complete', 'input_required'),
    meta: some(text),
    state: some(text),
  })
  .map((fields) => plain({ kind: 'result', stream: 7, ...fields }));
const event = fc.record({ seq: fc.nat(), method: text }).map((f) => plain({ kind: 'event', stream: 7, ...f }));
const fixed: Head[] = [
  { kind: 'started', stream: 7 },
  { kind: 'accepted', stream: 7 },
  { kind: 'close', stream: 7 },
];
const anyHead = fc.oneof(open, result, event, fc.constantFrom(...fixed));
const message = fc.record({ head: anyHead, size: fc.oneof(fc.nat(300), fc.nat(200_000)) });

/** Cuts `whole` at the given places. */
function portions(whole: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((c) => c % (whole.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, i) => whole.subarray(from, places[i] ?? whole.length));
}

describe('frames in any portions', () => {
  test('every message comes out as it went in, wherever the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(message, { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat(), { maxLength: 40 }),
        (sent, cuts) => {
          const bodies = sent.map(({ size }, i) => Buffer.alloc(size, 65 + i));
          const pieces = sent.flatMap(({ head }, i) => encodeMessage(7, i, headText(head), bodies[i]!));
          const got: Got[] = [];
          const decoder = decoderInto(got);
          for (const portion of portions(Buffer.concat(pieces), cuts)) decoder.push(portion);
          const expected = sent.map(({ head }, i) => ({
            stream: 7,
            seq: i,
            head,
            body: bodies[i]!.toString('latin1'),
          }));
          assert.deepEqual(got, expected);
          assert.equal(decoder.heldBytes, 0);
        },
      ),
      { numRuns: 150 },
    );
  });

  test('frames of several streams may alternate in any order', () => {
    const streams = fc.array(fc.integer({ min: 1, max: 300_000 }), { minLength: 2, maxLength: 5 });
    fc.assert(
      fc.property(streams, fc.array(fc.nat(), { minLength: 60, maxLength: 60 }), (sizes, turns) => {
        const head = headText({ kind: 'event', stream: 1, seq: 1, method: 'm' });
        const sending = sizes.map((size, i) => new LongMessage(i + 1, 0, head, Buffer.alloc(size, 65 + i)));
        const got: Got[] = [];
        const decoder = decoderInto(got);
        for (let turn = 0; sending.some((m) => m.left > 0); turn++) {
          const left = sending.filter((m) => m.left > 0);
          const next = left[turns[turn % turns.length]! % left.length]!;
          for (const piece of next.frame(1 + (turns[turn % turns.length]! % 70_000))) decoder.push(piece);
        }
        assert.deepEqual(
          got.map((g) => [g.stream, g.body.length]).sort(([a], [b]) => Number(a) - Number(b)),
          sizes.map((size, i) => [i + 1, size]),
        );
        assert.equal(decoder.heldBytes, 0);
      }),
      { numRuns: 60 },
    );
  });

  test('no frame is longer than 65,536 bytes', () => {
    const long = new LongMessage(1, 0, headText({ kind: 'started', stream: 1 }), new Uint8Array(1_000_000));
    while (long.left > 0) {
      const frame = long.frame(Number.POSITIVE_INFINITY);
      assert.ok(frame.reduce((sum, piece) => sum + piece.length, 0) <= 65_536);
    }
  });

  test('a burst of short messages is one piece', () => {
    const buffer = new FrameBuffer();
    for (let i = 0; i < 100; i++) buffer.append(i + 1, 0, 'S', new Uint8Array(200));
    const pieces = buffer.take();
    assert.equal(pieces.length, 1);
    const got: Got[] = [];
    decoderInto(got).push(pieces[0]!);
    assert.equal(got.length, 100);
    assert.deepEqual(buffer.take(), []);
  });

  test('bytes of nobody never crash the decoder with anything but its own fault', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 10 }), (chunks) => {
        const decoder = decoderInto([]);
        try {
          for (const chunk of chunks) decoder.push(chunk);
        } catch (error) {
          assert.equal((error as Error).constructor.name, 'WireFault');
        }
      }),
      { numRuns: 500 },
    );
  });

  test('a head of the wire is text that stays the same from version to version', () => {
    assert.equal(headText({ kind: 'started', stream: 7 }), 'S');
    assert.equal(headText({ kind: 'result', stream: 7, seq: 3, resultType: 'complete' }), 'R3');
    assert.equal(
      headText(openHead(7, { name: 'echo', fromSeq: 2 })),
      'O["x7","tools/call","echo","d1","acme","https://idp.example","alice","editor",null,"echo","modern","cancel",false,60000,{},{"fromSeq":2}]',
    );
    assert.deepEqual(parseHead('{"kind":"ping","n":1,"reply":true,"newer":1}', 0), {
      kind: 'ping',
      n: 1,
      reply: true,
      newer: 1,
    });
  });
});
