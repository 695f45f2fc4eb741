// A modern client gets a result of many megabytes as the very bytes the link has received, in whichever form.

import assert from 'node:assert/strict';
import { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { bytes, eventsOf, type Rig, sendModern, startRig } from './rig.ts';

let rig: Rig;
before(async () => {
  rig = await startRig();
});
after(() => rig.close());

const MEMBERS = `"content":[{"type":"text","text":"${'x'.repeat(1_000_000)}"}]`;

for (const accept of ['application/json', 'text/event-stream']) {
  test(`as ${accept} it is written as it came`, async (t) => {
    const members = bytes(MEMBERS);
    rig.answer = async () => ({ kind: 'result', resultType: 'complete', members });
    const written = new Set<unknown>();
    const write = ServerResponse.prototype.write as (...args: unknown[]) => boolean;
    t.mock.method(ServerResponse.prototype, 'write', function (this: ServerResponse, ...args: unknown[]) {
      if (args[0] instanceof Uint8Array) written.add(args[0].buffer);
      return write.apply(this, args);
    });
    const { body } = await sendModern(rig.port, { headers: { Accept: accept } });
    const message = accept === 'application/json' ? JSON.parse(body) : eventsOf(body).at(-1);
    const { result } = message as { result: { content: { text: string }[] } };
    assert.equal(result.content[0]?.text.length, 1_000_000);
    assert.ok(written.has(members.buffer));
  });
}

test('line breaks between its tokens are taken out of what goes on a stream', async () => {
  const members = bytes(MEMBERS.replace('[', '[\r\n').replace(',', ',\n'));
  rig.answer = async () => ({ kind: 'result', resultType: 'complete', members });
  const { body } = await sendModern(rig.port, { headers: { Accept: 'text/event-stream' } });
  const [message, ...more] = eventsOf(body) as { result: { content: unknown[] } }[];
  assert.equal(message?.result.content.length, 1);
  assert.deepEqual(more, []);
});
