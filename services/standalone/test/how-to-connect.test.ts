// The banner of `npm start` and the README tell people the same ways to connect.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '@lockkeeper/state/config/load';
import { banner } from '../src/banner.ts';

const at = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

const README = readFileSync(at('README.md'), 'utf8');
const DEMO = loadConfig(at('ops/dev/demo.yaml'), {});
const TOKENS = { ...DEMO, auth: { mode: 'jwt', issuers: [] } } as typeof DEMO;

/** What stands behind a client's name. */
function wayOf(client: string, snapshot = DEMO): string {
  const text = banner(snapshot, 'http://127.0.0.1:8080', 'http://127.0.0.1:9090');
  const line = text.split('\n').find((each) => each.trim().startsWith(client));
  return (line ?? assert.fail(client)).trim().slice(client.length).trim();
}

/** JSON behind the name of its file. */
function jsonOf(client: string, snapshot = DEMO): unknown {
  const way = wayOf(client, snapshot);
  return JSON.parse(way.slice(way.indexOf('{')));
}

function readmeJson(client: string): unknown {
  const block = new RegExp(`\\*\\*${client}\\*\\*[^\`]*\`[^\`]+\`\\)\\n\\n\`\`\`json\\n([^\`]+)\`\`\``).exec(README);
  return JSON.parse(block?.[1] ?? '');
}

for (const client of ['Claude Code', 'Inspector']) {
  test(`the command for ${client} is one of the README's`, () => {
    assert.ok(README.split('\n').includes(wayOf(client)), wayOf(client));
  });

  test(`the command for ${client} says where the token goes`, () => {
    assert.equal(wayOf(client, TOKENS), `${wayOf(client)} --header "Authorization: Bearer $TOKEN"`);
  });
}

for (const client of ['VS Code', 'Cursor']) {
  test(`the file for ${client} is the README's`, () => assert.deepEqual(jsonOf(client), readmeJson(client)));
}

test('a file for Cursor has the address and the headers, and no type', () => {
  assert.deepEqual(jsonOf('Cursor', TOKENS), {
    mcpServers: { lockkeeper: { url: 'http://127.0.0.1:8080/mcp', headers: { Authorization: 'Bearer <token>' } } },
  });
});
