// A node's unix socket: a name of its own in a directory that only its owner may enter, so that a file which a killed
// node left behind is never in anybody's way; the next node to start takes it out.

import { mkdirSync, readdirSync, statSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';

const SUFFIX = '.sock';
/** What the system takes, without its closing zero. */
const MAX_PATH = 107;
const SETTLED_MS = 1_000;

/** The path for a node's socket; the directory is made where it is missing. */
export function socketFile(directory: string, nodeId: string): string {
  const path = join(directory, `${nodeId}${SUFFIX}`);
  if (Buffer.byteLength(path) > MAX_PATH) {
    throw new Error(`link.socketDir is too long for unix sockets: choose a directory of a shorter path (${path})`);
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  return path;
}

/** Takes out the sockets nobody listens on any more. */
export async function sweepSocketFiles(directory: string): Promise<void> {
  const files = readdirSync(directory).filter((name) => name.endsWith(SUFFIX));
  await Promise.all(
    files.map(async (name) => {
      const path = join(directory, name);
      if (isSettled(path) && (await isDead(path))) remove(path);
    }),
  );
}

/** One that was made just now may not listen yet. */
function isSettled(path: string): boolean {
  const made = statSync(path, { throwIfNoEntry: false });
  return made !== undefined && Date.now() - made.mtimeMs > SETTLED_MS;
}

/** Refused: the file is there, its listener is not. */
function isDead(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Another node that starts was quicker.
  }
}
