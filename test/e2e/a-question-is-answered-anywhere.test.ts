// Two gateways, two pool managers, one Redis: a server asks through one gateway and is answered through the other. Who
// may answer, what reaches the server, how often a tool has run (design §4, protocol.md §5.1, §5.5, Part 6).

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../harness/eventually.ts';
import { createIssuer, type Issuer, type TokenWish } from '../harness/issuer.ts';
import { type Cluster, startCluster, warm } from '../harness/lockkeeper.ts';
import { callModern } from '../harness/messages.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';

type Json = Record<string, unknown>;
type Era = 'legacy' | 'modern';
interface Result {
  readonly resultType: string;
  readonly requestState?: string;
  readonly inputRequests?: Record<string, { method: string; params: { message: string; requestedSchema: unknown } }>;
  readonly content?: { text: string }[];
}

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const ERAS: readonly Era[] = ['legacy', 'modern'];
const CC = 'io.modelcontextprotocol/clientCapabilities';
const PATHS = { legacy: '/acme/legacy/mcp', modern: '/acme/modern/mcp', other: '/acme/other/mcp', all: '/acme/mcp' };
type Place = keyof typeof PATHS;

let folder: string;
let redis: StartedRedis;
let issuer: Issuer;
let cluster: Cluster;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lockkeeper-questions-'));
  redis = await startRedis();
  issuer = createIssuer();
  const server = (era: Era) => ({
    name: era,
    args: [at('./servers/confirms.mjs')],
    isolation: 'user' as const,
    env: { ERA: era, COUNTER: join(folder, era) },
  });
  const one = (path: string, name: string) => ({ path, tenant: 'acme', server: name });
  cluster = await startCluster({
    gateways: 2,
    poolManagers: 2,
    redis: redis.url,
    servers: ERAS.map(server),
    routes: [
      one(PATHS.legacy, 'legacy'),
      one(PATHS.modern, 'modern'),
      one(PATHS.other, 'modern'),
      { path: PATHS.all, tenant: 'acme', servers: [...ERAS] },
    ],
    auth: {
      mode: 'jwt',
      issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] }],
    },
    policy: [
      {
        tenant: 'acme',
        groups: ['dev'],
        allow: ERAS.map((name) => ({ server: name, tools: ['*'], prompts: ['*'], resources: ['*'] })),
      },
    ],
  });
  await warm(async () => {
    for (const era of ERAS) {
      const { message } = await call({ place: era, arg: 'warm', capabilities: {} });
      assert.ok(message?.result ?? message?.error);
    }
  });
});

after(async () => {
  await cluster?.stop();
  issuer?.close();
  await redis?.stop();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

interface Wish {
  readonly place: Place;
  readonly arg: string;
  readonly gateway?: number;
  readonly who?: Partial<TokenWish>;
  readonly state?: unknown;
  /** A modern server's own. */
  readonly inner?: string;
  readonly answers?: Json;
  readonly capabilities?: Json;
  readonly tool?: string;
}

async function call(wish: Wish) {
  const { place, arg, gateway = 0, who = {}, capabilities = { elicitation: { form: {} } } } = wish;
  const audience = cluster.gateways[0]!.route(PATHS[place]);
  const { status, message } = await callModern(cluster.gateways[gateway]!.route(PATHS[place]), {
    method: 'tools/call',
    params: {
      name: wish.tool ?? 'confirm',
      arguments: { arg, ...(wish.inner === undefined ? {} : { state: wish.inner }) },
      ...(wish.answers === undefined ? {} : { inputResponses: wish.answers }),
      ...(wish.state === undefined ? {} : { requestState: wish.state }),
    },
    meta: { [CC]: capabilities },
    token: issuer.token({ audience, ...who }),
  });
  const error = message?.error as { code: number; message: string; data?: Json } | undefined;
  return { status, message, error, result: message?.result as Result | undefined };
}

/** Asks through one gateway. */
async function question(wish: Wish) {
  const { result, message } = await call(wish);
  assert.equal(result?.resultType, 'input_required', JSON.stringify(message));
  const [key, request] = Object.entries(result.inputRequests ?? {})[0]!;
  return { key, params: request.params, state: result.requestState! };
}

const accepting = (key: string, code: string) => ({ [key]: { action: 'accept', content: { code } } });
const runs = (era: Era, arg: string) =>
  readFileSync(join(folder, era), 'utf8')
    .split('\n')
    .filter((line) => line === arg || line === `again ${arg}`);

for (const era of ERAS) {
  describe(`a ${era} server that asks`, () => {
    it('GB-058 GB-064: is answered through the other gateway, with another token of the same person, and ran once', async () => {
      const { key, params, state } = await question({ place: era, arg: 'a1', gateway: 0 });
      assert.equal(params.message, `Server "${era}" asks: confirm a1?`);
      const answers = accepting(key, '42');
      const done = await call({ place: era, arg: 'a1', gateway: 1, state, answers, who: { ttlSeconds: 600 } });
      assert.match(done.result?.content?.[0]?.text ?? JSON.stringify(done.message), /^a1: accept 42/);
      assert.deepEqual(runs(era, 'a1'), era === 'legacy' ? ['a1'] : ['a1', 'again a1']);
    });

    it('is answered on an aggregate, too, under its name there', async () => {
      const tool = `${era}__confirm`;
      const { key, params, state } = await question({ place: 'all', arg: 'agg', tool });
      assert.equal(params.message, `Server "${era}" asks: confirm agg?`);
      const done = await call({ place: 'all', arg: 'agg', tool, gateway: 1, state, answers: accepting(key, '1') });
      assert.match(done.result?.content?.[0]?.text ?? JSON.stringify(done.message), /^agg: accept 1/);
    });

    it('GB-059: hears nothing of an answer by another person, program, route, call or by a changed state', async () => {
      const { key, state } = await question({ place: era, arg: 'mine' });
      const before = runs(era, 'mine').length;
      const answers = accepting(key, 'stolen');
      const flip = state.slice(0, -9) + (state.at(-9) === 'A' ? 'B' : 'A') + state.slice(-8);
      const tries: Partial<Wish>[] = [
        { who: { sub: 'bob' } },
        { who: { client: 'other-program' } },
        { place: 'other' },
        { arg: 'yours' },
        { state: flip },
        { state: null },
      ];
      const words = new Set<string>();
      for (const change of tries) {
        const { error, message } = await call({ place: era, arg: 'mine', gateway: 1, state, answers, ...change });
        assert.equal(error?.code, -32602, JSON.stringify([change, message]));
        words.add(error.message);
      }
      assert.equal(words.size, 1, [...words].join(' | '));
      assert.equal(runs(era, 'mine').length, before);
      assert.deepEqual(runs(era, 'yours'), []);
      const honest = await call({ place: era, arg: 'mine', gateway: 1, state, answers: accepting(key, 'own') });
      assert.match(honest.result?.content?.[0]?.text ?? JSON.stringify(honest.message), /^mine: accept own/);
      await eventually(() => {
        const rows = cluster.gateways[1]!.process.logs()
          .split('\n')
          .filter((line) => line.includes('"kind":"audit"'));
        return rows.some((row) => row.includes('"detail":"requestState: foreign"') && row.includes('"subject":"bob"'));
      });
    });

    it('GB-065: never mixes up two people who are asked at the same time', async () => {
      const people = ['alice', 'bob'];
      const ask = async (sub: string, n: number) => {
        const arg = `${sub}-${n}`;
        const who = { sub };
        const { key, params, state } = await question({ place: era, arg, gateway: n % 2, who });
        assert.ok(params.message.endsWith(`confirm ${arg}?`), params.message);
        const answers = accepting(key, `code-of-${arg}`);
        const done = await call({ place: era, arg, gateway: (n + 1) % 2, who, state, answers });
        assert.ok(
          done.result?.content?.[0]?.text.startsWith(`${arg}: accept code-of-${arg}`),
          JSON.stringify(done.message),
        );
      };
      // Five at a time each: fewer than pool.max, since under pressure a process that cannot ask may serve (design §5).
      const chain = async (sub: string, from: number) => {
        for (let n = from; n < 30; n += 5) await ask(sub, n);
      };
      await Promise.all(people.flatMap((sub) => [0, 1, 2, 3, 4].map((from) => chain(sub, from))));
      for (const sub of people) {
        for (let n = 0; n < 30; n++)
          assert.equal(runs(era, `${sub}-${n}`).filter((l) => l === `${sub}-${n}`).length, 1);
      }
    });

    it('GB-064: gets a refusal at once when the client declared nothing', async () => {
      const { status, result, error, message } = await call({ place: era, arg: 'none', capabilities: {} });
      if (era === 'legacy') {
        assert.match(result?.content?.[0]?.text ?? JSON.stringify(message), /^none: refused -326\d\d$/);
      } else {
        assert.deepEqual([status, error?.code], [400, -32021]);
        assert.deepEqual(error?.data?.requiredCapabilities, { elicitation: { form: {} } });
      }
    });
  });
}

describe('a modern server', () => {
  it('GB-061: gets back what it gave, byte for byte, and nothing where it gave nothing', async () => {
    for (const inner of ['', ' ', 'A'.repeat(8192), 'é"\\ \u2028', '{"a":[1]}', undefined]) {
      const given = inner === undefined ? {} : { inner };
      const { key, state } = await question({ place: 'modern', arg: 'st', ...given });
      const done = await call({
        place: 'modern',
        arg: 'st',
        gateway: 1,
        state,
        answers: accepting(key, 'x'),
        ...given,
      });
      const expected = inner === undefined ? 'none' : JSON.stringify(inner);
      assert.equal(done.result?.content?.[0]?.text, `st: accept x with ${expected}`, JSON.stringify(done.message));
    }
  });

  it('GB-062: never gets a form through to a client that declared URLs only', async () => {
    const capabilities = { elicitation: { url: {} } };
    const { status, error } = await call({ place: 'modern', arg: 'url', capabilities });
    assert.deepEqual([status, error?.code], [400, -32021]);
  });

  it('takes answers that come without a state, as it may want none', async () => {
    const done = await call({ place: 'modern', arg: 'bare', answers: accepting('sure', 'y') });
    assert.equal(done.result?.content?.[0]?.text, 'bare: accept y with none', JSON.stringify(done.message));
  });
});

describe('a legacy server', () => {
  it('never sees answers that nobody asked for: it asks anew (protocol.md §2.8 #12a)', async () => {
    const { result, message } = await call({ place: 'legacy', arg: 'early', answers: accepting('sure', 'y') });
    assert.equal(result?.resultType, 'input_required', JSON.stringify(message));
  });
});
