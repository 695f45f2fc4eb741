// auth-security §3.4, GB-015: what a child leaves in its private directory goes with it, also where the pool manager is not
// root and has no right to it as the child left it.

import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { removeTree } from '../../src/child/end/remove.ts';

const NOBODY = 65_534;
const isRoot = process.geteuid!() === 0;
let folder: string;

/** Root has every right; then it is somebody else who removes. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lockkeeper-test-'));
  if (!isRoot) return;
  chownSync(folder, NOBODY, NOBODY);
  process.seteuid!(NOBODY);
});

afterEach(() => {
  if (isRoot) process.seteuid!(0);
  rmSync(folder, { recursive: true, force: true });
});

describe('a private directory', () => {
  it('goes with directories that nobody may write in, read or enter', async () => {
    const home = join(folder, 'home');
    for (const [name, mode] of [
      ['read-only', 0o555],
      ['closed', 0],
    ] as const) {
      const inner = join(home, name, 'deeper');
      mkdirSync(inner, { recursive: true });
      writeFileSync(join(inner, 'file'), 'kept', { mode: 0o400 });
      chmodSync(inner, mode);
      chmodSync(join(home, name), mode);
    }
    chmodSync(home, 0o500);
    await removeTree(home);
    assert.equal(existsSync(home), false);
  });

  it('goes without anything behind its links', async () => {
    const [home, other] = [join(folder, 'home'), join(folder, 'other')];
    mkdirSync(join(home, 'inner'), { recursive: true });
    mkdirSync(other, { mode: 0o555 });
    symlinkSync(other, join(home, 'inner', 'link'));
    chmodSync(join(home, 'inner'), 0o500);
    await removeTree(home);
    assert.equal(existsSync(home), false);
    assert.equal(statSync(other).mode & 0o777, 0o555);
  });

  it('that is not there is no fault', async () => {
    await removeTree(join(folder, 'never'));
  });
});
