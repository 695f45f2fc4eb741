// One aggregate route over everything that a server can be: stdio and HTTP, legacy and modern, and HTTP+SSE. Is there one
// list, is every tool of it callable by either era, and does one server that is down leave the others as they are?

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { asker, call, ERAS, fileOf, type Json, modernAsker, namesOf } from '../field-cases/stage.ts';
import { eventually } from '../harness/eventually.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { freePort } from '../harness/ports.ts';
import { type Running, startProcess } from '../harness/process.ts';
import { connect } from '../matrix/clients.ts';

interface Kind {
  readonly name: string;
  /** A tool of it. */
  readonly tool: string;
  readonly says: RegExp;
  down(): Promise<void>;
  up(): Promise<void>;
}

const PATIENCE = { deadlineMs: 30_000, everyMs: 200 };
let folder: string;
let lockkeeper: Lockkeeper;
const kinds: Kind[] = [];
const running = new Map<string, Running>();

/** A program of test/servers/http at a port of its own, which it comes back to. */
async function remote(name: string, file: string, args: readonly string[]) {
  const port = await freePort();
  const program = fileURLToPath(new URL(`../servers/http/${file}.ts`, import.meta.url));
  const start = async () => {
    running.set(name, await startProcess({ args: [program, ...args], env: { PORT: String(port) } }));
    return String(running.get(name)!.ready.url);
  };
  const url = await start();
  kinds.push({
    ...{ name, tool: 'progress', says: /done/ },
    down: () => running.get(name)!.kill(),
    up: async () => void (await start()),
  });
  return { name, http: { url, connectMs: 1_000 }, more: { startTimeoutMs: 3_000 } };
}

/** Down is: its program is not to be found, and what ran is gone. */
function local(name: string, file: string) {
  const program = join(folder, `${name}.mjs`);
  const install = () => writeFileSync(program, `await import(${JSON.stringify(fileOf(file))});\n`);
  install();
  kinds.push({
    ...{ name, tool: 'echo', says: /ahoy/ },
    down: async () => {
      rmSync(program);
      assert.ok(!existsSync(program));
      await call(modernAsker(lockkeeper.route(`/acme/${name}/mcp`)), 'crash');
    },
    up: async () => install(),
  });
  return {
    name,
    args: [program],
    env: { ERA: name.endsWith('modern') ? 'modern' : 'legacy' },
    more: { startTimeoutMs: 3_000 },
  };
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lockkeeper-every-kind-'));
  const servers = [
    local('stdio-legacy', 'crashes-mid-call'),
    local('stdio-modern', 'crashes-mid-call'),
    await remote('http-modern', 'sdk-v2', ['modern']),
    await remote('http-legacy', 'sdk-v1', ['stateful']),
    await remote('http-sse', 'sdk-v1', ['sse']),
  ];
  lockkeeper = await startStandalone({ servers, limits: { listTtlMs: 0 } });
});
after(async () => {
  await lockkeeper?.stop();
  await Promise.all([...running.values()].map((one) => one.kill()));
  rmSync(folder, { recursive: true, force: true });
});

const NAMES = ['stdio-legacy', 'stdio-modern', 'http-modern', 'http-legacy', 'http-sse'];
const route = () => lockkeeper.route('/acme/mcp');
/** The servers of which something is listed, in the order of the list. */
const listed = (names: readonly string[]) => [...new Set(names.map((name) => name.split('__')[0]!))];

async function works(kind: Kind, era: (typeof ERAS)[number]): Promise<void> {
  const { result, message } = await call(await asker(era, route()), `${kind.name}__${kind.tool}`, { text: 'ahoy' });
  assert.notEqual(result?.isError, true, JSON.stringify(message));
  assert.match(JSON.stringify(result?.content), kind.says);
}

describe('all five', () => {
  for (const era of ERAS) {
    it(`are one list for a ${era} client, in one order, and each of its tools can be called`, async () => {
      const ask = await asker(era, route());
      const [first, second] = [namesOf(await ask('tools/list')), namesOf(await ask('tools/list'))];
      assert.deepEqual(first, second);
      assert.deepEqual(listed(first), NAMES);
      assert.equal(new Set(first).size, first.length);
      for (const kind of kinds) await works(kind, era);
    });
  }

  for (const era of ERAS) {
    it(`can be asked for everything they list by a published ${era} client, which they may ask in turn`, async () => {
      const client = await connect(era, route());
      try {
        const tools = (await client.tools()).filter((tool) => !/__(crash|kill|close|wait)$/.test(tool));
        assert.ok(tools.length > 25, tools.join(' '));
        for (const tool of tools) {
          const result = await client.call(tool, { text: 'ahoy', tool: `new-${era}`, uri: 'note://a/1' });
          assert.notEqual(result.isError, true, `${tool}: ${JSON.stringify(result)}`);
        }
        const kinds = ['elicitation/create', 'elicitation/create', 'sampling/createMessage', 'roots/list'];
        assert.deepEqual(
          client.asked.map(({ method }) => method),
          [...kinds, ...kinds, ...kinds],
        );
      } finally {
        await client.close();
      }
    });
  }
});

describe('one that is down', () => {
  for (const name of NAMES) {
    it(`(${name}) is named as such, leaves the other four as they are in both eras, and comes back`, async () => {
      const kind = kinds.find((one) => one.name === name)!;
      const others = kinds.filter((one) => one !== kind);
      await kind.down();
      for (const era of ERAS) {
        const ask = await asker(era, route());
        await eventually(async () => {
          const answer = await ask('tools/list');
          // What it had is known and may be listed still; that it is down is said.
          const up = listed(namesOf(answer)).filter((one) => one !== name);
          assert.deepEqual(
            up,
            NAMES.filter((one) => one !== name),
          );
          assert.match(JSON.stringify(answer.result?._meta), new RegExp(`"server":"${name}"`));
        }, PATIENCE);
        for (const other of others) await works(other, era);
        const { result, error } = await call(ask, `${name}__${kind.tool}`, { text: 'ahoy' });
        assert.ok(result?.isError === true || error !== undefined, JSON.stringify(result as Json));
      }
      await kind.up();
      for (const era of ERAS) await eventually(() => works(kind, era), PATIENCE);
      const names = await eventually(async () => {
        const answer = namesOf(await modernAsker(route())('tools/list'));
        assert.deepEqual(listed(answer), NAMES);
        return answer;
      }, PATIENCE);
      assert.equal(new Set(names).size, names.length);
    });
  }
});
