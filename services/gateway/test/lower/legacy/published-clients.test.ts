// Do published clients find everything as they expect it, when each of their requests meets another replica?

import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { connectV1, type LegacyTransport } from '../../../../../test/harness/client-legacy.ts';
import { eventually } from '../../../../../test/harness/eventually.ts';
import { createUpstream, createWorld, held, type Kind, ROUTE, result, text, type World } from './replicas.ts';

for (const kind of ['memory', 'redis'] satisfies Kind[]) {
  for (const how of ['streamable', 'sse'] satisfies LegacyTransport[]) {
    describe(`SDK v1 over ${how}, ${kind} store`, () => {
      let world: World;
      before(async () => {
        world = await createWorld(kind);
      });
      after(() => world.close());
      afterEach(() => {
        world.upstream.answer = createUpstream().answer;
      });

      /** Round robin without affinity. */
      function anyReplica(): typeof fetch {
        let turn = 0;
        return (input, init) => {
          const url = new URL(input instanceof Request ? input.url : String(input));
          const replica = world.replicas[turn++ % 2]!;
          return fetch(new URL(url.pathname + url.search, replica.url), init);
        };
      }

      const connect = () => connectV1(world.replicas[0].url + ROUTE.path, how, { fetch: anyReplica() });

      test('lists, calls, progress and pings work', async (t) => {
        const client = await connect();
        t.after(() => client.close());
        assert.equal(client.getServerVersion()?.name, 'lockkeeper');
        assert.equal(client.getInstructions(), 'Mind the gap.');
        world.upstream.answer = async () =>
          result(
            '"tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}],"ttlMs":0,"cacheScope":"private"',
          );
        const listed = await client.listTools();
        assert.deepEqual(listed.tools[0]?.outputSchema?.required, ['result']);
        const steps: number[] = [];
        world.upstream.answer = async (_exchange, _ask, listener) => {
          for (const n of [1, 2, 3]) listener.event('notifications/progress', text(`"progress":${n}`));
          // This client takes a response before notifications that came in the same chunk.
          await eventually(() => steps.length === 3);
          return result('"content":[{"type":"text","text":"[1]"}],"structuredContent":[1]');
        };
        const answer = await client.callTool({ name: 't' }, undefined, {
          onprogress: (p) => void steps.push(p.progress),
        });
        assert.deepEqual(answer.structuredContent, { result: [1] });
        assert.deepEqual(steps, [1, 2, 3]);
        await client.ping();
        await client.setLoggingLevel('info');
      });

      test('a call that the client aborts is cancelled, and the next one answered', async (t) => {
        const client = await connect();
        t.after(() => client.close());
        const errors: unknown[] = [];
        client.onerror = (error) => void errors.push(error);
        const slow = held();
        world.upstream.answer = slow.answer;
        const leaving = new AbortController();
        const call = client.callTool({ name: 'slow' }, undefined, { signal: leaving.signal });
        await slow.started;
        const { exchange } = world.upstream.seen.at(-1)!;
        leaving.abort();
        await assert.rejects(call);
        await eventually(() => exchange.signal.aborted);
        world.upstream.answer = createUpstream().answer;
        const next = await client.callTool({ name: 'next' });
        assert.deepEqual(next.content, [{ type: 'text', text: 'next' }]);
        assert.deepEqual(errors, []);
      });
    });
  }
}
