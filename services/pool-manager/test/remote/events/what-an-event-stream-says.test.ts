// Which messages are in a stream of events, however it is cut, spelt or broken? (2511/http, protocol.md §4.4)

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EventStream } from '../../../src/remote/events/event-stream.ts';

interface Read {
  readonly events: (readonly [string, string])[];
  readonly ids: string[];
  readonly retries: number[];
  readonly tooLong: { readonly bytes: number; readonly head: string; readonly tail: string }[];
  readonly endless: boolean[];
}

function read(chunks: readonly (string | Uint8Array)[], maxBytes = 100_000): Read {
  const said: Read = { events: [], ids: [], retries: [], tooLong: [], endless: [] };
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString();
  const stream = new EventStream(maxBytes, {
    event: (name, data) => said.events.push([name, text(data)]),
    id: (id) => said.ids.push(id),
    retry: (ms) => said.retries.push(ms),
    tooLong: ({ bytes, head, tail }) => said.tooLong.push({ bytes, head: text(head), tail: text(tail) }),
    endless: (begun) => said.endless.push(begun),
  });
  for (const chunk of chunks) stream.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  return said;
}

describe('what an event stream says', () => {
  const cases: readonly (readonly [string, string, readonly (readonly [string, string])[]])[] = [
    ['one line of data', 'data: {"a":1}\n\n', [['', '{"a":1}']]],
    ['CRLF', 'event: message\r\ndata: {"a":1}\r\n\r\n', [['message', '{"a":1}']]],
    [
      'bare CR',
      'data: {"a":1}\r\rdata: 2\r\r',
      [
        ['', '{"a":1}'],
        ['', '2'],
      ],
    ],
    ['a byte order mark', '\ufeffdata: {"a":1}\n\n', [['', '{"a":1}']]],
    ['data over several lines', 'data: {"a":\ndata:  1}\n\n', [['', '{"a":\n 1}']]],
    ['no blank behind the colon', 'data:{"a":1}\n\n', [['', '{"a":1}']]],
    ['comments to keep alive', ': ping\n\n:\n\ndata: 1\n\n', [['', '1']]],
    ['letters beyond ASCII', 'data: {"a":"ж日🙂\u2028"}\n\n', [['', '{"a":"ж日🙂\u2028"}']]],
    ['an event without its end', 'data: 1\n\ndata: 2\n', [['', '1']]],
    ['unknown fields', 'mood: good\ndata: 1\n\n', [['', '1']]],
  ];
  for (const [what, text, expected] of cases) {
    it(`${what}: read whole and read byte by byte`, () => {
      assert.deepEqual(read([text]).events, expected);
      const bytes = Buffer.from(text);
      assert.deepEqual(read(Array.from(bytes, (_x, at) => bytes.subarray(at, at + 1))).events, expected);
    });
  }

  it('bytes that are not UTF-8 come as they are, and what follows is not harmed', () => {
    const bytes = Buffer.concat([Buffer.from('data: '), Buffer.from([0xff, 0xc0]), Buffer.from('\n\ndata: 1\n\n')]);
    let raw: Uint8Array | undefined;
    const stream = new EventStream(100, {
      event: (_name, data) => {
        raw ??= data;
      },
      ...{ id: () => {}, retry: () => {}, tooLong: () => {}, endless: () => {} },
    });
    stream.push(bytes);
    assert.deepEqual([...raw!], [0xff, 0xc0]);
    assert.deepEqual(read([bytes]).events[1], ['', '1']);
  });

  it('ids are told before their events, also of an event without data, and the wish for a pause', () => {
    const { ids, retries, events } = read(['id: 7\nretry: 250\ndata:\n\nid: 8\n\nid: 9\ndata: 1\n\n']);
    assert.deepEqual(
      [ids, retries, events],
      [
        ['7', '8', '9'],
        [250],
        [
          ['', ''],
          ['', '1'],
        ],
      ],
    );
  });

  it('an id too long to be sent back is none', () => {
    assert.deepEqual(read([`id: ${'x'.repeat(2000)}\ndata: 1\n\n`]).ids, []);
  });

  it('an event over the cap is skipped to its end, told with its ends, and the stream goes on', () => {
    const long = `{"result":"${'x'.repeat(5000)}","jsonrpc":"2.0","id":4}`;
    for (const size of [64, 700, 20_000]) {
      const bytes = Buffer.from(`data: 1\n\ndata: ${long}\n\ndata: 2\n\n`);
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_x, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      );
      const { events, tooLong } = read(chunks, 1000);
      assert.deepEqual(
        events,
        [
          ['', '1'],
          ['', '2'],
        ],
        `in pieces of ${size}`,
      );
      assert.equal(tooLong.length, 1);
      assert.match(tooLong[0]!.head, /^\{"result":"xxx/);
      assert.match(tooLong[0]!.tail, /"id":4\}$/);
    }
  });

  it('an event that never ends is given up', () => {
    const chunks = Array.from({ length: 100 }, () => 'x'.repeat(1000));
    const { endless, events } = read(['data: ', ...chunks], 1000);
    assert.equal(endless[0], true);
    assert.equal(endless.at(-1), false);
    assert.deepEqual(events, []);
  });

  it('many small events never add up to one that is too long, however they are cut', () => {
    const chunks = Array.from({ length: 2000 }, (_x, i) => (i % 2 === 0 ? 'data: 123456789\n' : '\n'));
    const { events, tooLong, endless } = read(chunks, 1000);
    assert.deepEqual([events.length, tooLong.length, endless.length], [1000, 0, 0]);
  });
});
