// Is the table of README.md true? A case that it gives a test is named in that file; a case that a file names is in the
// table.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { it } from 'node:test';

const here = new URL('./', import.meta.url);
const textOf = (file: string) => readFileSync(new URL(file, here), 'utf8');
const files = readdirSync(here).filter((name) => name.endsWith('.test.ts') && !name.startsWith('every-'));
const rows = [...textOf('README.md').matchAll(/^\| (GB-\d{3}) \|(.*)\|$/gm)].map(([, id, rest]) => ({
  id: id!,
  files: [...rest!.split('|')[2]!.matchAll(/`([a-z-]+\.test\.ts)`/g)].map(([, name]) => name!),
  elsewhere: rest!.split('|')[2]!.trim() === 'elsewhere',
  others: [...rest!.matchAll(/`([\w/-]+\/[\w-]+\.test\.ts)`/g)].map(([, path]) => fileAt(path!)),
}));

/** Those of services are named without that folder. */
function fileAt(path: string): URL {
  return new URL(`../../${path.startsWith('test/') ? '' : 'services/'}${path}`, here);
}

it('names for each case the files that prove it', () => {
  assert.ok(rows.length > 100);
  assert.equal(new Set(rows.map(({ id }) => id)).size, rows.length);
  const broken = rows.flatMap(({ id, files: named }) => named.filter((file) => !textOf(file).includes(id)));
  assert.deepEqual(broken, []);
});

it('names for a case that is elsewhere files that exist, one of which is by that id', () => {
  const paths = rows.flatMap(({ others }) => others);
  assert.deepEqual(
    paths.filter((path) => !existsSync(path)),
    [],
  );
  const lost = rows.filter(
    ({ id, elsewhere, others }) => elsewhere && !others.some((path) => readFileSync(path, 'utf8').includes(id)),
  );
  assert.deepEqual(
    lost.map(({ id }) => id),
    [],
  );
});

it('leaves no case out that a file proves', () => {
  const listed = new Set(rows.filter(({ files: named }) => named.length > 0).map(({ id }) => id));
  // In a title; a comment may speak of cases that are elsewhere.
  const proved = files.flatMap((file) =>
    [...textOf(file).matchAll(/(?:describe|it)\(\s*(['"`])(GB-\d{3})/g)].map(([, , id]) => id!),
  );
  assert.deepEqual(
    proved.filter((id) => !listed.has(id)),
    [],
  );
});
