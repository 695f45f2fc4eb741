// A connection that waits for its next request keeps the last one, as Node has it. Hundreds of them must not keep the
// bodies they brought (auth-security.md T-48).

import assert from 'node:assert/strict';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { eventually } from '../../../../test/harness/eventually.ts';
import { readBody } from '../../src/http/body.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

for (const bytes of [200, 1024 * 1024]) {
  test(`not a body of ${bytes} bytes, once it is answered`, async () => {
    let body: WeakRef<object> | undefined;
    const server = createServer(async (incoming, response) => {
      const read = await readBody(incoming, 2 * 1024 * 1024);
      assert.equal(read.kind, 'bytes');
      if (read.kind === 'bytes') body = new WeakRef(read.bytes);
      response.end('{}');
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const agent = new Agent({ keepAlive: true });
    try {
      const { port } = server.address() as AddressInfo;
      const payload = Buffer.from(JSON.stringify('x'.repeat(bytes)));
      await new Promise<void>((done, failed) => {
        const headers = { 'content-length': payload.length };
        const sent = request({ port, host: '127.0.0.1', method: 'POST', agent, headers }, (answer) => {
          answer.resume().on('end', done);
        });
        sent.on('error', failed).end(payload);
      });
      await eventually(() => {
        collect();
        return body !== undefined && body.deref() === undefined;
      });
      assert.equal(Object.values(agent.freeSockets).flat().length, 1, 'the connection is still there');
    } finally {
      agent.destroy();
      server.close();
    }
  });
}
