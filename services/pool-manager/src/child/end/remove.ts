// Takes a child's private directory away, whatever it has made of it: caches that tools write for good (a Go module's) are
// directories without the right to write, and a pool manager that is not root has to give that right back first.

import { chmod, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

export async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 2 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    await openUp(path);
    await rm(path, { recursive: true, force: true, maxRetries: 2 });
  }
}

/** Directories only, and none behind a link. */
async function openUp(root: string): Promise<void> {
  const left = [root];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    const directory = path;
    await chmod(directory, 0o700);
    const entries = await readdir(directory, { withFileTypes: true });
    left.push(...entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(directory, name)));
  }
}
