// The published servers of the peer table: how each is started and one thing of every kind it has to offer, with what must
// come back. The fourth is the conformance fixture on SDK v2, which speaks both eras.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServerWish } from '../harness/lockkeeper.ts';

export interface PeerServer {
  readonly wish: ServerWish;
  /** Names that must be in its list. */
  readonly tools: readonly string[];
  readonly call: {
    readonly name: string;
    readonly arguments: Readonly<Record<string, unknown>>;
    readonly says: RegExp;
  };
  readonly prompt?: {
    readonly name: string;
    readonly arguments: Readonly<Record<string, string>>;
    readonly says: RegExp;
  };
  readonly resource?: { readonly uri: string; readonly says: RegExp };
}

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const published = (name: string) => at(`node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);

export interface PeerServers {
  readonly list: readonly PeerServer[];
  remove(): void;
}

export function peerServers(): PeerServers {
  const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-peers-'));
  writeFileSync(join(folder, 'hello.txt'), 'hello from a file');
  return {
    list: [
      {
        wish: { name: 'everything', args: [published('everything'), 'stdio'] },
        tools: ['echo', 'get-sum', 'get-structured-content'],
        call: { name: 'echo', arguments: { message: 'ahoy' }, says: /ahoy/ },
        prompt: { name: 'args-prompt', arguments: { city: 'Oslo' }, says: /Oslo/ },
        resource: { uri: 'demo://resource/static/document/architecture.md', says: /\S/ },
      },
      {
        wish: { name: 'files', args: [published('filesystem'), folder] },
        tools: ['read_text_file', 'list_directory'],
        call: {
          name: 'read_text_file',
          arguments: { path: join(folder, 'hello.txt') },
          says: /hello from a file/,
        },
      },
      {
        wish: {
          name: 'memory',
          args: [published('memory')],
          env: { MEMORY_FILE_PATH: join(folder, 'memory.json') },
        },
        tools: ['create_entities', 'read_graph'],
        call: { name: 'read_graph', arguments: {}, says: /entities/ },
        resource: { uri: 'memory://knowledge-graph', says: /entities/ },
      },
      {
        wish: { name: 'dual', args: [at('test/conformance/fixtures/dual.ts')] },
        tools: ['test_simple_text', 'json_schema_2020_12_tool'],
        call: { name: 'test_simple_text', arguments: {}, says: /simple text response/ },
        prompt: { name: 'test_prompt_with_arguments', arguments: { arg1: 'fore', arg2: 'aft' }, says: /fore.*aft/ },
        resource: { uri: 'test://static-text', says: /static text resource/ },
      },
    ],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
