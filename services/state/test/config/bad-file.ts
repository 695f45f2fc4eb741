// Configurations with a fault, as rows: what is wrong, the file with a mark at each place that is told, the sentences.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ConfigError, type ConfigFault } from '../../src/config/faults.ts';
import { loadConfig } from '../../src/config/load.ts';
import { type Folder, makeFolder, openConfig } from './sample.ts';

export let folder: Folder;

/** Makes the folder for the tests of one file. */
export function useFolder(): void {
  before(() => {
    folder = makeFolder({ 'jwks.json': '{"keys":[]}' });
  });
  after(() => folder.remove());
}

export function faultsOf(text: string, env: Record<string, string> = {}): readonly ConfigFault[] {
  const file = folder.write('lockkeeper.yaml', text);
  try {
    loadConfig(file, env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const fault of error.faults) assert.equal(fault.file, file);
    return error.faults;
  }
  return [];
}

/** Stands in the rows right before each place that is told; faults come in the order of their marks. */
const MARK = '§';

/** The file without marks, and `line:column` of each. */
export function unmarked(marked: string): { text: string; places: string[] } {
  const places: string[] = [];
  let text = '';
  for (const char of marked) {
    const line = text.split('\n').length;
    const column = text.length - text.lastIndexOf('\n');
    if (char === MARK) places.push(`${line}:${column}`);
    else text += char;
  }
  return { text, places };
}

/** Instead of a command: a server by URL. */
export const http = (members: string, more = '') =>
  openConfig().replace('stdio: { command: node }', `http: { ${members} }${more}`);

/** What is wrong, the file with marks, the sentence of each fault. */
export type Row = readonly [string, string, ...RegExp[]];

export function tellFaults(rows: readonly Row[]): void {
  describe('a configuration with a fault says where and what to do', () => {
    for (const [name, marked, ...sentences] of rows) {
      test(name, () => {
        const { text, places } = unmarked(marked);
        assert.equal(places.length, sentences.length, 'a row has a mark for each sentence');
        const faults = faultsOf(text);
        assert.deepEqual(
          faults.map(({ line, column }) => `${line}:${column}`),
          places,
          faults.map(({ words }) => words).join('\n'),
        );
        for (const [i, sentence] of sentences.entries()) assert.match(faults[i]!.words, sentence);
      });
    }
  });
}
