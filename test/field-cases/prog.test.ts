// Field cases of class PROG: does progress reach the request that asked for it, under the token it gave, and nobody else?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { modernRequest } from '../harness/messages.ts';
import { sendRaw } from '../harness/raw.ts';
import { asker, call, ERAS, type Json, server, textOf } from './stage.ts';

let lockkeeper: Lockkeeper;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);
const alone = { isolation: 'shared', more: { pool: { max: 1 } } } as const;

before(async () => {
  lockkeeper = await startStandalone({
    servers: [
      server('old', 'progress-and-logs', alone),
      server('new', 'progress-and-logs', { ...alone, env: { ERA: 'modern' } }),
      server('told', 'says-anything', alone),
      server('told-new', 'says-anything', { ...alone, env: { ERA: 'modern' } }),
    ],
    limits: { keepAliveMs: 1000 },
  });
});
after(() => lockkeeper?.stop());

const progressOf = (before: readonly Record<string, unknown>[]) =>
  before.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params as Json);

describe('GB-083: equal tokens of different callers', () => {
  for (const name of ['old', 'new']) {
    it(`are kept apart on one ${name} process, each with its own type`, async () => {
      const callers = ERAS.flatMap((era) => [1, '1', 1].map((token, n) => ({ era, token, label: `${era}-${n}` })));
      const answers = await Promise.all(
        callers.map(async ({ era, token, label }) => {
          const ask = await asker(era, at(name));
          return call(ask, 'work', { steps: 4, everyMs: 15, label }, { meta: { progressToken: token } });
        }),
      );
      answers.forEach((answer, n) => {
        const { token, label } = callers[n]!;
        assert.equal(textOf(answer), '4 steps');
        const seen = progressOf(answer.before);
        assert.ok(seen.length > 0, label);
        for (const { progressToken, message } of seen) {
          assert.strictEqual(progressToken, token);
          assert.match(String(message), new RegExp(`^${label} \\d$`));
        }
      });
    });
  }

  for (const name of ['told', 'told-new']) {
    it(`are different tokens for the ${name} server`, async () => {
      const end =
        '{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete","content":[{"type":"text","text":"$TOKEN"}]}}';
      const tokens: string[] = [];
      for (const era of ERAS) {
        const ask = await asker(era, at(name));
        for (const progressToken of [1, '1']) {
          tokens.push(textOf(await call(ask, 'write', { lines: [end] }, { meta: { progressToken } })));
        }
      }
      assert.equal(new Set(tokens).size, tokens.length, tokens.join());
    });
  }
});

describe('GB-084: progress that nobody asked for', () => {
  for (const name of ['old', 'new']) {
    for (const era of ERAS) {
      it(`of a ${name} server reaches no ${era} client, with a token or without`, async () => {
        const ask = await asker(era, at(name));
        for (const meta of [undefined, { progressToken: 'p' }]) {
          const answer = await call(
            ask,
            'unasked',
            {},
            { ...(meta && { meta }), headers: { accept: 'text/event-stream' } },
          );
          assert.equal(textOf(answer), 'unasked');
          assert.deepEqual(answer.before, []);
        }
      });
    }
  }

  it('is not made up to keep a stream alive: those are comments', async () => {
    const wish = { method: 'tools/call', params: { name: 'later', arguments: { ms: 2600, text: 'x' } } };
    const response = await sendRaw(at('told'), modernRequest({ ...wish, headers: { accept: 'text/event-stream' } }));
    const events = [];
    for await (const event of response.events()) events.push(event);
    response.destroy();
    assert.ok(events.some(({ comment }) => comment !== undefined));
    assert.equal(events.filter(({ data }) => data !== undefined).length, 1);
  });
});
