import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { encodeMessage, LongMessage } from '../../src/link/codec.ts';
import { FrameDecoder } from '../../src/link/decoder.ts';
import { openHead, Wire } from './wire.ts';

const sink = { message: () => undefined, part: () => undefined, aborted: () => undefined };
const MIB = 1024 * 1024;

function faultOf(maxBytes: number, ...pieces: Uint8Array[]): string {
  const decoder = new FrameDecoder(sink, maxBytes);
  try {
    for (const piece of pieces) decoder.push(piece);
  } catch (error) {
    return (error as { code: string }).code;
  }
  return 'none';
}

const head = (text: string) => encodeMessage(1, 0, text, new Uint8Array(0));

/** A frame written by hand: flags, payload length, stream, seq, head, total, payload. */
function frame(flags: number, length: number, rest: readonly number[], payload = new Uint8Array(0)): Uint8Array {
  const bytes = Buffer.alloc(20 + payload.length);
  bytes.writeUInt32BE(((flags << 24) | length) >>> 0, 0);
  for (const [i, n] of rest.entries()) bytes.writeUInt32BE(n, 4 + 4 * i);
  bytes.set(payload, 20);
  return bytes;
}

const open = JSON.stringify(openHead(1));
const rows: readonly (readonly [answer: string, code: string, ...pieces: Uint8Array[]])[] = [
  ['an unknown kind', 'unknown-kind', ...head('{"kind":"teleport","stream":1}')],
  ['an unknown short head', 'unknown-kind', ...head('Z')],
  ['a kind that is a member of every object', 'unknown-kind', ...head('{"kind":"constructor"}')],
  ['an open that is an object', 'unknown-kind', ...head(open)],
  ['an open without its texts', 'bad-head', ...head('O["x1",1]')],
  ['an open of another shape', 'bad-head', ...head('O{"xid":"x1"}')],
  ['a result whose number is none', 'bad-head', ...head('R-1')],
  ['a head that is not JSON', 'bad-head', ...head('{"kind":')],
  ['a head that is not UTF-8', 'bad-head', frame(1, 2, [1, 0, 2, 2], new Uint8Array([0x7b, 0xff]))],
  ['a credit of a negative number', 'bad-head', ...head('{"kind":"credit","stream":0,"bytes":-5}')],
  ['a cancel by nobody', 'bad-head', ...head('{"kind":"cancel","xid":"x","principal":null,"session":null}')],
  ['a frame of unknown flags', 'bad-frame', frame(8, 1, [1, 0, 1, 1], new Uint8Array(1))],
  ['a frame longer than frames are', 'bad-frame', frame(1, 65_536, [1, 0, 1, 65_536])],
  ['a frame of nothing', 'bad-frame', frame(1, 0, [1, 0, 0, 0])],
  ['a part of a message that never began', 'bad-frame', frame(2, 4, [1, 0, 0, 0], new Uint8Array(4))],
  ['a head longer than its message', 'bad-frame', frame(1, 1, [1, 0, 9, 1], new Uint8Array(1))],
  [
    'a message that begins twice',
    'bad-frame',
    frame(3, 1, [1, 0, 1, 9], new Uint8Array(1)),
    frame(3, 1, [1, 1, 1, 9], new Uint8Array(1)),
  ],
  [
    'a message longer than it said',
    'bad-frame',
    frame(3, 1, [1, 0, 1, 2], new Uint8Array(1)),
    frame(0, 2, [1, 0, 0, 0], new Uint8Array(2)),
  ],
  [
    'a message shorter than it said',
    'bad-frame',
    frame(3, 1, [1, 0, 1, 4], new Uint8Array(1)),
    frame(0, 2, [1, 0, 0, 0], new Uint8Array(2)),
  ],
  ['a message that says it is too long', 'message-too-long', frame(3, 1, [1, 0, 1, 65 * MIB], new Uint8Array(1))],
];

describe('a peer that does not speak the link', () => {
  for (const [answer, code, ...pieces] of rows) {
    test(`${answer} is refused as ${code}`, () => {
      assert.equal(faultOf(64 * MIB, ...pieces), code);
    });
  }

  test('before it has proved itself it may say 4 KiB at a time and no more', () => {
    assert.equal(faultOf(4096, ...encodeMessage(0, 0, '{"kind":"hello"}', new Uint8Array(4096))), 'message-too-long');
  });

  test('more than 64 half messages at once are refused', () => {
    const begun = Array.from({ length: 65 }, (_, i) => frame(3, 1, [i + 1, 0, 1, 9], new Uint8Array(1)));
    assert.equal(faultOf(64 * MIB, ...begun.slice(0, 64)), 'none');
    assert.equal(faultOf(64 * MIB, ...begun), 'too-many-partial');
  });

  test('half messages may not announce more than 16 MiB together, but one alone may', () => {
    const begun = [1, 2, 3].map((stream) => frame(3, 1, [stream, 0, 1, 7 * MIB], new Uint8Array(1)));
    assert.equal(faultOf(64 * MIB, ...begun.slice(0, 2)), 'none');
    assert.equal(faultOf(64 * MIB, frame(3, 1, [9, 0, 1, 60 * MIB], new Uint8Array(1))), 'none');
    assert.equal(faultOf(64 * MIB, ...begun), 'too-many-partial');
  });

  test('an aborted message is forgotten and its stream may begin another', () => {
    const decoder = new FrameDecoder(sink, 64 * MIB);
    const message = new LongMessage(3, 0, 'S', new Uint8Array(100));
    for (const piece of message.frame(10)) decoder.push(piece);
    assert.equal(decoder.heldBytes, 101);
    decoder.push(message.abort());
    assert.equal(decoder.heldBytes, 0);
    assert.equal(faultOf(64 * MIB, ...encodeMessage(3, 0, 'S', new Uint8Array(0))), 'none');
  });

  test('the lane closes its socket once and takes nothing more', () => {
    const reasons: string[] = [];
    const wire = new Wire((reason) => reasons.push(reason));
    for (const piece of head('{"kind":"teleport"}')) wire.lane.received(piece);
    for (const piece of head('{"kind":"teleport"}')) wire.lane.received(piece);
    assert.deepEqual(reasons, ['unknown-kind: teleport']);
    assert.equal(wire.destroyed, true);
  });
});
