// Field cases of class SCH: do schemas arrive as their server wrote them, and does an odd one harm its own tool only?

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { asker, call, ERAS, type Json, modernAsker, namesOf, server, textOf } from './stage.ts';

const SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } },
    'a/b': { const: null },
  },
  definitions: { old: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'string' } },
  properties: {
    first: { $ref: '#/$defs/node' },
    second: { $ref: '#/$defs/a~1b' },
    third: { $ref: '#/properties/first' },
    fourth: { $anchor: 'four', type: 'integer', minimum: 1.0, maximum: 1e3 },
    fifth: true,
    sixth: { $ref: '#/definitions/old' },
  },
  unevaluatedProperties: false,
};
const nested = (depth: number) => `${'{"anyOf":['.repeat(depth)}{}${']}'.repeat(depth)}`;
const GOOD = Array.from({ length: 13 }, (_, n) => `{"name":"good-${n}","inputSchema":{"type":"object"}}`);
const ODD = [
  '{"name":"missing-def","inputSchema":{"type":"object"},"outputSchema":{"$ref":"#/$defs/Missing"}}',
  '{"name":"null-schema","inputSchema":null}',
  '{"name":"array-schema","inputSchema":{"type":"array"}}',
  `{"name":"nested","inputSchema":{"type":"object","properties":{"x":${nested(2000)}}}}`,
];

let lockkeeper: Lockkeeper;
const at = (name: string) => lockkeeper.route(`/acme/${name}/mcp`);

before(async () => {
  const whole = JSON.stringify({
    tools: [{ name: 'q', inputSchema: SCHEMA, outputSchema: { ...SCHEMA, type: 'object' } }],
  });
  const odd = `{"tools":[${[...GOOD.slice(0, 6), ...ODD, ...GOOD.slice(6)].join()}]}`;
  lockkeeper = await startStandalone({
    servers: [
      server('whole', 'says-anything', { env: { LISTS: whole } }),
      server('whole-new', 'says-anything', { env: { LISTS: whole, ERA: 'modern' } }),
      server('odd', 'says-anything', { env: { LISTS: odd } }),
      server('odd-new', 'says-anything', { env: { LISTS: odd, ERA: 'modern' } }),
    ],
  });
});
after(() => lockkeeper?.stop());

describe('GB-136: a schema with definitions and references', () => {
  for (const name of ['whole', 'whole-new']) {
    for (const path of [`/acme/${name}/mcp`, '/acme/mcp']) {
      for (const era of ERAS) {
        it(`of ${name} on ${path} arrives whole at a ${era} client`, async () => {
          const { result } = await (await asker(era, lockkeeper.route(path)))('tools/list');
          const tools = result!.tools as Json[];
          const tool = tools.find((one) => one.name === 'q' || one.name === `${name}__q`)!;
          assert.equal(JSON.stringify(tool.inputSchema), JSON.stringify(SCHEMA));
          assert.deepEqual(tool.outputSchema, SCHEMA);
        });
      }
    }
  }
});

describe('GB-137: an odd schema', () => {
  for (const name of ['odd', 'odd-new']) {
    for (const era of ERAS) {
      it(`of ${name} takes no other tool with it, for a ${era} client`, async () => {
        const ask = await asker(era, at(name));
        const names = namesOf(await ask('tools/list'));
        for (let n = 0; n < 13; n++) assert.ok(names.includes(`good-${n}`), names.join());
        assert.equal((JSON.parse(textOf(await call(ask, 'good-3'))) as { name: string }).name, 'good-3');
        const aggregate = namesOf(await (await asker(era, lockkeeper.route('/acme/mcp')))('tools/list'));
        assert.ok(aggregate.includes(`${name}__good-12`));
      });
    }
  }

  it('that a tool is withheld for is told to the operator', async () => {
    const names = namesOf(await modernAsker(at('odd'))('tools/list'));
    const logs = lockkeeper.process.logs();
    for (const tool of ['missing-def', 'null-schema', 'array-schema', 'nested']) {
      assert.ok(names.includes(tool) || logs.includes(tool), tool);
    }
  });
});
