// `npm run import -- FILE [--tenant acme] [--out FILE]`: a desktop client's mcpServers JSON to our YAML. The YAML goes to
// stdout or to a new file; notes and what to set go to stderr. Values that look like secrets are never printed.

import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { tenantName } from '../config/schema/names.ts';
import { convertServers } from '../import/convert.ts';
import { readDesktopFile } from '../import/desktop-servers.ts';

const USAGE = 'usage: npm run import -- FILE [--tenant acme] [--out FILE]';
const TENANT = tenantName('');

function run(): number {
  const { values, positionals } = parseArgs({
    options: { tenant: { type: 'string', default: 'acme' }, out: { type: 'string' } },
    allowPositionals: true,
  });
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0) throw new Error(USAGE);
  if (!new RegExp(TENANT.pattern ?? '').test(values.tenant)) throw new Error(`--tenant: ${TENANT.errorMessage}`);

  const { servers, notes } = readDesktopFile(readText(file));
  for (const note of notes) console.error(`- ${note}`);
  if (servers.length === 0) throw new Error('no server in the file can be taken over');
  const converted = convertServers(servers, values.tenant);
  for (const note of converted.notes) console.error(`- ${note}`);
  for (const { variable, purpose } of converted.needed) console.error(`set ${variable} (${purpose})`);

  if (values.out === undefined) process.stdout.write(converted.yaml);
  else writeNew(values.out, converted.yaml);
  return 0;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}

function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
    throw new Error(code === 'EEXIST' ? `${file} exists: name another file` : `${file} cannot be written (${code})`);
  }
  console.error(`wrote ${file}: start it with LOCKKEEPER_CONFIG=${file} npm start`);
}

try {
  process.exitCode = run();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
