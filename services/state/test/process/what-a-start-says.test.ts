// What a person reads who starts a service in a wrong way: a sentence and where to look, never a stack; exit code 2.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../../test/harness/ports.ts';

const MAIN = fileURLToPath(new URL('../../../standalone/src/main.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'lockkeeper-start-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function start(...args: string[]): Promise<{ code: number; said: string }> {
  const { LOCKKEEPER_CONFIG: _unset, ...env } = process.env;
  // Both outputs into one, as a terminal shows them.
  const command = ['-c', 'exec "$0" "$@" 2>&1', process.execPath, MAIN, ...args];
  const child = spawn('sh', command, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8');
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, said };
}

for (const [args, words] of [
  [['--bogus'], /^Unknown option '--bogus'\.\nUsage: --config FILE/],
  [['--config'], /^Option '--config <value>' argument missing\.\nUsage: --config FILE/],
  [['lockkeeper.yaml'], /^Unexpected argument 'lockkeeper\.yaml'.*\nUsage: --config FILE/],
  [[], /^Usage: --config FILE/],
] as const) {
  test(`${args.join(' ') || 'no argument'}: usage, no stack, exit 2`, async () => {
    const { code, said } = await start(...args);
    assert.equal(code, 2);
    assert.match(said, words);
    assert.doesNotMatch(said, /\n\s+at /);
  });
}

test('a file that is not there is named with the whole path that was looked at', async () => {
  const { code, said } = await start('--config', 'nowhere.yaml');
  assert.equal(code, 2);
  assert.ok(said.includes(join(folder, 'nowhere.yaml')), said);
});

test('without Redis the last line says why nothing was started', async () => {
  const config = {
    listen: { host: '127.0.0.1', port: await freePort(), adminPort: 0 },
    state: `redis://127.0.0.1:${await freePort()}`,
    auth: { mode: 'open' },
    tenants: [{ name: 'acme' }],
    servers: [{ name: 'e', tenant: 'acme', stdio: { command: 'node', args: ['x'] } }],
    routes: [{ path: '/mcp', tenant: 'acme', server: 'e' }],
  };
  writeFileSync(join(folder, 'redis.yaml'), JSON.stringify(config));
  const { code, said } = await start('--config', 'redis.yaml');
  assert.equal(code, 1);
  assert.match(said.trimEnd().split('\n').at(-1)!, /^standalone could not start: .*Redis/);
});
