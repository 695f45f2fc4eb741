// Two people use one server through every gateway at once, with questions, progress, logs and results that each name a
// secret of the caller's: does anything of one reach the other (design §5 "Crossing users", protocol.md §5.8 #4)?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createIssuer, type Issuer } from '../harness/issuer.ts';
import { callLegacy, legacyRequest, openLegacySession } from '../harness/messages.ts';
import { sendRaw } from '../harness/raw.ts';
import { messagesIn } from '../harness/raw-sse.ts';
import { type StartedRedis, startRedis } from '../harness/redis.ts';
import { type Json, type Stage, startStage, textOf } from './stage.ts';

const PEOPLE = ['alice', 'bob'] as const;
const ISOLATIONS = ['user', 'exclusive'] as const;
const ROUNDS = 12;
const AT_ONCE = 3;

type Person = (typeof PEOPLE)[number];
type Isolation = (typeof ISOLATIONS)[number];

let redis: StartedRedis;
let issuer: Issuer;
let stage: Stage;

before(async () => {
  redis = await startRedis();
  issuer = createIssuer();
  const allow = ISOLATIONS.map((server) => ({ server, tools: ['*'], prompts: ['*'], resources: ['*'] }));
  stage = await startStage(
    redis.url,
    {
      auth: { mode: 'jwt', issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] }] },
      policy: [{ tenant: 'acme', groups: ['dev'], allow }],
    },
    ISOLATIONS,
  );
});

after(async () => {
  await stage?.stop();
  issuer?.close();
  await redis?.stop();
});

interface Heard {
  readonly person: Person;
  readonly message: Json;
}

const tokenOf = (server: Isolation, sub: Person) => issuer.token({ audience: stage.url(0, server), sub });
const secret = (person: Person, server: Isolation, era: string, n: number) =>
  `secret-of-${person}-${server}-${era}-${n}`;
const codeOf = (arg: string): Json => ({ action: 'accept', content: { code: `code-of-${arg}` } });
const wanted = (arg: string) => `${arg}: accept code-of-${arg}`;

async function modern(person: Person, server: Isolation, n: number, heard: Heard[]): Promise<void> {
  const arg = secret(person, server, 'modern', n);
  const token = tokenOf(server, person);
  const meta = { 'io.modelcontextprotocol/logLevel': 'info', progressToken: arg };
  const asked = await stage.call({ arg, server, gateway: n % 3, token, meta });
  const [key, request] = Object.entries(asked.result?.inputRequests ?? {})[0] ?? [];
  assert.ok(request?.params.message.endsWith(`confirm ${arg}?`), JSON.stringify(asked));
  const question = { key: key!, state: asked.result!.requestState! };
  const done = await stage.call({ arg, server, gateway: (n + 1) % 3, token, meta, question, answer: codeOf(arg) });
  assert.equal(textOf(done), wanted(arg));
  for (const said of [asked, done]) {
    const { before, ...rest } = said;
    for (const message of [...before, rest as unknown as Json]) heard.push({ person, message });
  }
}

interface LegacySession {
  readonly session: string;
  readonly token: string;
}

async function opened(person: Person, server: Isolation): Promise<LegacySession> {
  const token = tokenOf(server, person);
  const { session } = await openLegacySession(stage.url(0, server), { token, capabilities: { elicitation: {} } });
  const level = { jsonrpc: '2.0', id: 'level', method: 'logging/setLevel', params: { level: 'info' } };
  await callLegacy(stage.url(0, server), { token, session: session!, revision: '2025-11-25', message: level });
  return { session: session!, token };
}

async function legacy(person: Person, server: Isolation, n: number, heard: Heard[], own: LegacySession): Promise<void> {
  const arg = secret(person, server, 'legacy', n);
  const how = { ...own, revision: '2025-11-25' };
  const params = { name: 'work', arguments: { arg }, _meta: { progressToken: arg } };
  const message = { jsonrpc: '2.0', id: n, method: 'tools/call', params };
  const response = await sendRaw(stage.url(n % 3, server), legacyRequest({ ...how, message }));
  for await (const one of messagesIn(response.events())) {
    heard.push({ person, message: one });
    if (one.method === 'elicitation/create') {
      assert.ok(String((one.params as Json).message).endsWith(`confirm ${arg}?`), JSON.stringify(one));
      const answer = { jsonrpc: '2.0', id: one.id, result: codeOf(arg) };
      const taken = await sendRaw(stage.url((n + 1) % 3, server), legacyRequest({ ...how, message: answer }));
      assert.equal(taken.status, 202);
      taken.destroy();
    }
    if (one.id === n && one.method === undefined) {
      assert.equal(textOf(one as never), wanted(arg));
      response.destroy();
      return;
    }
  }
  assert.fail(`no answer for ${arg}`);
}

/** So many at once; an error of one is everybody's. */
async function together(count: number, work: (n: number) => Promise<void>): Promise<void> {
  const chain = async (from: number) => {
    for (let n = from; n < count; n += AT_ONCE) await work(n);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, (_, from) => chain(from)));
}

for (const server of ISOLATIONS) {
  describe(`two people and one server, isolation ${server}`, () => {
    it('each hears of their own questions, progress, logs and results only, and every call has run once', async () => {
      const heard: Heard[] = [];
      await Promise.all(
        PEOPLE.flatMap((person) => [
          together(ROUNDS, (n) => modern(person, server, n, heard)),
          opened(person, server).then((own) => together(ROUNDS, (n) => legacy(person, server, n, heard, own))),
        ]),
      );
      for (const { person, message } of heard) {
        const foreign = PEOPLE.filter((other) => other !== person).map((other) => `secret-of-${other}`);
        for (const word of foreign) assert.ok(!JSON.stringify(message).includes(word), JSON.stringify(message));
      }
      const told = (method: string) =>
        heard.filter(({ message }) => message.method === `notifications/${method}`).length;
      assert.ok(told('progress') > ROUNDS && told('message') > ROUNDS, `${told('progress')} ${told('message')}`);
      for (const person of PEOPLE) {
        for (const era of ['modern', 'legacy']) {
          for (let n = 0; n < ROUNDS; n++) assert.equal(stage.runs(secret(person, server, era, n)), 1);
        }
      }
      // A process has served one of them.
      for (const entries of Map.groupBy(stage.recorded(), ({ pid }) => pid).values()) {
        const text = JSON.stringify(entries);
        assert.equal(PEOPLE.filter((person) => text.includes(`secret-of-${person}`)).length <= 1, true);
      }
    });
  });
}
