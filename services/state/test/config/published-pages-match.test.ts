// Do the published schema and the reference page say what the loader does?

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { referencePage, schemaFile } from '../../src/config/reference-page.ts';
import type { SchemaNode } from '../../src/config/schema/node.ts';
import { CONFIG_SCHEMA } from '../../src/config/schema/root.ts';
import { SAMPLE } from './sample.ts';

const ops = (name: string) => readFileSync(new URL(`../../../../ops/${name}`, import.meta.url), 'utf8');

test('ops/config.schema.json is the schema; if not: npm run config:docs', () => {
  assert.equal(ops('config.schema.json'), schemaFile());
});

test('ops/config-reference.md is made from it; if not: npm run config:docs', () => {
  assert.equal(ops('config-reference.md'), referencePage());
});

test('the published schema works for a validator that knows nothing of us', () => {
  const validate = new Ajv({ strict: false }).compile(JSON.parse(ops('config.schema.json')));
  assert.ok(validate(parse(SAMPLE)), JSON.stringify(validate.errors));
  assert.ok(!validate({ ...parse(SAMPLE), lisen: 1 }));
  assert.ok(!validate({ ...parse(SAMPLE), routes: [{ path: '/a/mcp', tenant: 'acme' }] }));
});

test('every key has a sentence, every map is closed, every number, text and list has a bound', () => {
  const visit = (node: SchemaNode, path: string): void => {
    assert.match(node.description, /\.$/, `${path} needs a sentence`);
    if (node.type === 'integer') assert.ok(node.minimum !== undefined && node.maximum !== undefined, path);
    if (node.type === 'string') assert.ok(node.maxLength !== undefined || node.enum !== undefined, path);
    if (node.type === 'array') assert.ok(node.maxItems !== undefined, path);
    if (node.type === 'object') assert.notEqual(node.additionalProperties, undefined, path);
    for (const [key, inner] of Object.entries(node.properties ?? {})) visit(inner, `${path}.${key}`);
    if (node.items !== undefined) visit(node.items, `${path}[]`);
    if (typeof node.additionalProperties === 'object') visit(node.additionalProperties, `${path}.*`);
  };
  visit(CONFIG_SCHEMA, '');
});

test('every key of the schema is on the page', () => {
  const page = referencePage();
  const visit = (node: SchemaNode, path: string): void => {
    for (const [key, inner] of Object.entries(node.properties ?? {})) {
      const own = path === '' ? key : `${path}.${key}`;
      assert.ok(page.includes(`| \`${own}\` |`), own);
      visit(inner.items ?? inner, inner.items === undefined ? own : `${own}[]`);
    }
  };
  visit(CONFIG_SCHEMA, '');
});
