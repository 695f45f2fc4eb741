// The audit row of a request that was turned away says how much of its body was read, whatever was wrong with it.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { headOf, modernParts, openSocket, type Rig, readReply, send, sendModern, startRig, until } from './rig.ts';

let rig: Rig;
before(async () => {
  rig = await startRig();
});
after(() => rig.close());

async function rowOf(sending: Promise<{ readonly status: number }>): Promise<[string, number]> {
  rig.audit.length = 0;
  const { status } = await sending;
  await until(() => rig.audit.length > 0);
  const [row, ...more] = rig.audit;
  assert.deepEqual([row?.status, more], [status, []]);
  return [row?.outcome ?? '', row?.bytesIn ?? -1];
}

const BODIES: readonly { readonly says: string; readonly body: string | Buffer; readonly outcome: string }[] = [
  { says: 'no JSON', body: '{"jsonrpc":', outcome: 'parse' },
  { says: 'nothing at all', body: '', outcome: 'parse' },
  {
    says: 'no UTF-8',
    body: Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
    outcome: 'parse',
  },
  { says: 'a byte order mark', body: Buffer.from('\ufeff{}'), outcome: 'parse' },
  { says: 'a key twice', body: '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', outcome: 'invalid-request' },
  { says: 'no message', body: '{"jsonrpc":"2.0"}', outcome: 'invalid-request' },
];

for (const { says, body, outcome } of BODIES) {
  test(`a body that is refused for ${says} is counted as it was read`, async () => {
    const { start, lines } = modernParts();
    assert.deepEqual(await rowOf(send(rig.port, start, lines, body)), [outcome, Buffer.byteLength(body)]);
  });
}

test('a body refused by its head alone was not read', async () => {
  const headers = { 'Content-Type': 'text/plain' };
  assert.deepEqual(await rowOf(sendModern(rig.port, { headers })), ['media-type', 0]);
});

test('a body without an announced length counts up to where reading ended', async () => {
  const { start, lines } = modernParts();
  const socket = openSocket(rig.port);
  socket.write(headOf(start, [...lines, 'Transfer-Encoding: chunked']));
  const piece = Buffer.alloc(16 * 1024, 0x20);
  for (let i = 0; i < 5; i++) socket.write(Buffer.concat([Buffer.from('4000\r\n'), piece, Buffer.from('\r\n')]));
  const [outcome, bytesIn] = await rowOf(readReply(socket));
  assert.equal(outcome, 'too-large');
  assert.ok(bytesIn > rig.snapshot.limits.maxBodyBytes, String(bytesIn));
});
