import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bytes,
  collect,
  connectorOf,
  type Ended,
  type FakeChild,
  fail,
  legacyServer,
  modernServer,
  NEVER,
  notedLog,
  ok,
  openOf,
  type Sent,
  spawner,
  specOf,
} from './fake.ts';

type Answer = (message: Sent, child: FakeChild) => void;

interface Listed extends Ended {
  readonly sent: (Record<string, unknown> | undefined)[];
  readonly warned: unknown[];
}

async function list(
  era: 'legacy' | 'modern',
  method: string,
  answer: Answer,
  maxResultBytes = 1_000_000,
): Promise<Listed> {
  const more = (m: Sent, child: FakeChild) => {
    if (m.method !== method) return false;
    answer(m, child);
    return true;
  };
  const { spawn, children } = spawner(era === 'legacy' ? legacyServer(more) : modernServer(more));
  const log = notedLog();
  const connector = connectorOf({ spawn, log, limits: () => ({ maxResultBytes, listTtlMs: 500 }) });
  const connection = await connector.connect(specOf({ era }), {}, NEVER);
  const { reply, ended } = collect();
  connection.call(openOf(method), bytes('"cursor":"the gateway’s own","v":1'), reply);
  const end = await ended;
  await connection.stop('test');
  await connector.close();
  const sent = children[0]!.received.filter((m) => m.method === method).map((m) => m.params);
  const warned = log.lines.filter((l) => l.words === 'list ends early').map((l) => l.fields.why);
  return { ...end, sent, warned };
}

const tools = (from: number, n: number) =>
  Array.from({ length: n }, (_, i) => ({ name: `t${from + i}`, inputSchema: {} }));
const names = (ended: Ended) => (ended.value!.tools as { name: string }[]).map((t) => t.name);

/** Pages by cursor; the first has none. */
const pages =
  (byCursor: Record<string, object>): Answer =>
  (m, child) =>
    ok(child, m, byCursor[(m.params?.cursor as string | undefined) ?? 'first']);

for (const era of ['legacy', 'modern'] as const) {
  test(`GB-129: every page of a ${era} server is fetched, in order, on one process`, async () => {
    const ended = await list(
      era,
      'tools/list',
      pages({ first: { tools: tools(0, 8), nextCursor: '8"\u00e9' }, '8"\u00e9': { tools: tools(8, 6) } }),
    );
    assert.deepEqual(
      names(ended),
      tools(0, 14).map((t) => t.name),
    );
    assert.deepEqual(
      ended.sent.map((p) => [p?.cursor, p?.v]),
      [
        [undefined, 1],
        ['8"\u00e9', 1],
      ],
    );
    assert.ok(!('nextCursor' in ended.value!));
  });

  test(`an empty cursor of a ${era} server is a real one; null is none`, async () => {
    const ended = await list(
      era,
      'tools/list',
      pages({ first: { tools: tools(0, 1), nextCursor: '' }, '': { tools: tools(1, 1), nextCursor: null } }),
    );
    assert.deepEqual(names(ended), ['t0', 't1']);
  });

  test(`GB-130: a cursor of a ${era} server that never advances ends the list, each tool once, and is said`, async () => {
    const ended = await list(era, 'tools/list', (m, child) => ok(child, m, { tools: tools(0, 8), nextCursor: 'x' }));
    assert.equal(names(ended).length, 8);
    assert.equal(ended.sent.length, 2);
    assert.deepEqual(ended.warned, ['a cursor came twice']);
  });
}

test('GB-130: cursors in a circle end the list', async () => {
  const ended = await list(
    'legacy',
    'tools/list',
    pages({
      first: { tools: tools(0, 2), nextCursor: 'x' },
      x: { tools: tools(2, 2), nextCursor: 'y' },
      y: { tools: tools(4, 2), nextCursor: 'x' },
    }),
  );
  assert.deepEqual(
    names(ended),
    tools(0, 6).map((t) => t.name),
  );
});

test('GB-130: ever new cursors with ever the same tools end the list at once', async () => {
  let n = 0;
  const ended = await list('legacy', 'tools/list', (m, child) =>
    ok(child, m, { tools: tools(0, 8), nextCursor: `c${n++}` }),
  );
  assert.equal(names(ended).length, 8);
  assert.equal(ended.sent.length, 2);
});

test('GB-130: ever new cursors with empty pages end at a thousand', async () => {
  let n = 0;
  const ended = await list('legacy', 'tools/list', (m, child) => ok(child, m, { tools: [], nextCursor: `c${n++}` }));
  assert.equal(ended.sent.length, 1000);
  assert.deepEqual(ended.warned, ['more than 1000 pages']);
});

test('GB-132: 700 tools in pages of 50 are 700 tools', async () => {
  const answer: Answer = (m, child) => {
    const from = Number(m.params?.cursor ?? 0);
    ok(child, m, { tools: tools(from, 50), ...(from < 650 ? { nextCursor: String(from + 50) } : {}) });
  };
  const ended = await list('legacy', 'tools/list', answer);
  assert.equal(names(ended).length, 700);
});

test('GB-132: a page that fails fails the list; never a silent part of it', async () => {
  const ended = await list('legacy', 'tools/list', (m, child) => {
    if (m.params?.cursor === undefined) ok(child, m, { tools: tools(0, 50), nextCursor: 'a' });
    else fail(child, m, -32603, 'database asleep');
  });
  assert.deepEqual([ended.fault?.reason, ended.fault?.message], ['upstream', 'database asleep']);
});

test('a list of many pages that grows over the limit is too large', async () => {
  let n = 0;
  const ended = await list(
    'legacy',
    'tools/list',
    (m, child) => {
      ok(child, m, { tools: tools(n, 50), nextCursor: `c${n}` });
      n += 50;
    },
    5_000,
  );
  assert.equal(ended.fault?.reason, 'too-large');
});

test('a list without its items is a breach', async () => {
  const ended = await list('legacy', 'tools/list', (m, child) => ok(child, m, { toolz: [] }));
  assert.equal(ended.fault?.reason, 'protocol');
});

test('GB-055: a legacy list gets the configured life and is private; a modern one keeps its own, pages take the least', async () => {
  const legacy = await list('legacy', 'prompts/list', (m, child) => ok(child, m, { prompts: [] }));
  assert.equal(legacy.text, '"prompts":[],"ttlMs":500,"cacheScope":"private"');
  const modern = await list(
    'modern',
    'resources/list',
    pages({
      first: { resources: [], nextCursor: 'a', ttlMs: 900, cacheScope: 'public' },
      a: { resources: [], ttlMs: 300, cacheScope: 'public' },
    }),
  );
  assert.equal(modern.text, '"resources":[],"ttlMs":300,"cacheScope":"public"');
  const silent = await list('modern', 'resources/templates/list', (m, child) =>
    ok(child, m, { resourceTemplates: [] }),
  );
  assert.equal(silent.text, '"resourceTemplates":[],"ttlMs":0,"cacheScope":"private"');
});

const SCHEMA =
  '{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","$defs":{"a/b":{"$ref":"#/$defs/a~1b"},"n":{"const":null}},' +
  '"properties":{"x":{"$ref":"#/$defs/a~1b"},"y":true,"n":{"minimum":1.0}},"unevaluatedProperties":false}';

test('GB-136: schemas, numbers, order and unknown members come through byte for byte', async () => {
  const items = `{"name":"a","inputSchema":${SCHEMA}}, {"inputSchema":${SCHEMA},"name":"b","x":1.50}`;
  for (const era of ['legacy', 'modern'] as const) {
    const ended = await list(era, 'tools/list', (m, child) =>
      child.line(`{"jsonrpc":"2.0","id":${m.id},"result":{"tools":[${items}],"more":[1.0]}}`),
    );
    const caching = era === 'legacy' ? '"ttlMs":500' : '"ttlMs":0';
    assert.equal(ended.text, `"tools":[${items}],"more":[1.0],${caching},"cacheScope":"private"`);
  }
});

test('GB-137: odd schemas of some tools, one 2,000 levels deep, leave the others alone', async () => {
  const deep = `${'{"anyOf":['.repeat(2000)}{}${']}'.repeat(2000)}`;
  const items = `{"name":"good","inputSchema":{}},{"name":"null","inputSchema":null},{"name":"array","inputSchema":{"type":"array"}},{"name":"deep","inputSchema":${deep}},"junk",{"name":"dangling","outputSchema":{"$ref":"#/$defs/Missing"}}`;
  const ended = await list('legacy', 'tools/list', (m, child) =>
    child.line(`{"jsonrpc":"2.0","id":${m.id},"result":{"tools":[${items}]}}`),
  );
  assert.equal(ended.text, `"tools":[${items}],"ttlMs":500,"cacheScope":"private"`);
});

test('execution and x-mcp-header of legacy tools are cut out, however they are spelled; a modern server’s stay', async () => {
  const before =
    '{"name":"a","execution":{"taskSupport":"required"},"inputSchema":{"properties":{"r":{"type":"string","x-mcp-header":"Region"}}}},' +
    '{"name":"b","inputSchema":{},"exec\\u0075tion":{}},{"execution":{}}';
  const after = '{"name":"a","inputSchema":{"properties":{"r":{"type":"string"}}}},{"name":"b","inputSchema":{}},{}';
  const answer: Answer = (m, child) => child.line(`{"jsonrpc":"2.0","id":${m.id},"result":{"tools":[${before}]}}`);
  assert.equal(
    (await list('legacy', 'tools/list', answer)).text,
    `"tools":[${after}],"ttlMs":500,"cacheScope":"private"`,
  );
  assert.equal(
    (await list('modern', 'tools/list', answer)).text,
    `"tools":[${before}],"ttlMs":0,"cacheScope":"private"`,
  );
});
