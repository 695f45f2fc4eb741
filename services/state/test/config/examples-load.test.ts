// Do the examples in ops/ load, and do the programs they name exist?

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../src/config/load.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
// A tree like ours, so that no key file is left in ours.
const tree = mkdtempSync(join(tmpdir(), 'lockkeeper-examples-'));
mkdirSync(join(tree, 'ops/examples'), { recursive: true });
mkdirSync(join(tree, '.lockkeeper/dev-issuer'), { recursive: true });
writeFileSync(join(tree, '.lockkeeper/dev-issuer/jwks.json'), '{"keys":[]}');
symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
after(() => rmSync(tree, { recursive: true, force: true }));

function load(name: string) {
  copyFileSync(join(ROOT, 'ops/examples', name), join(tree, 'ops/examples', name));
  return loadConfig(join(tree, 'ops/examples', name), {});
}

for (const [name, tenant, mode, routes] of [
  ['demo.yaml', 'demo', 'open', ['/demo/everything/mcp', '/demo/mcp']],
  ['lockkeeper.yaml', 'acme', 'jwt', ['/acme/everything/mcp', '/acme/mcp']],
] as const) {
  test(`${name} loads, and its server is in node_modules`, () => {
    const snapshot = load(name);
    assert.equal(snapshot.auth.mode, mode);
    assert.equal(snapshot.listen.host, '127.0.0.1');
    assert.deepEqual(
      snapshot.routes.map(({ path }) => path),
      routes,
    );
    const stdio = snapshot.servers.get(`${tenant}/everything`)!.stdio!;
    assert.equal(stdio.command, 'node');
    assert.ok(existsSync(resolve(stdio.cwd, stdio.args[0]!)));
  });
}
