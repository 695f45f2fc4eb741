// `npm run config:docs`: writes ops/config.schema.json and ops/config-reference.md from the schema. A test fails when
// they are older than it.

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { referencePage, schemaFile } from '../config/reference-page.ts';

const OPS = new URL('../../../../ops/', import.meta.url);

for (const [name, text] of [
  ['config.schema.json', schemaFile()],
  ['config-reference.md', referencePage()],
] as const) {
  const file = new URL(name, OPS);
  writeFileSync(file, text);
  console.log(`wrote ${fileURLToPath(file)}`);
}
