// Notices that files may have changed: by watching their folders (editors replace files, Kubernetes swaps a symlink in
// the folder above) and by looking at them now and then, since a watch may be unsupported or die. Says only "look
// again"; whether anything really changed is for the caller to find out.

import { type FSWatcher, watch } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock, Timer } from '../clock.ts';

export interface FileWatch {
  /** From now on these; others are left. */
  files(next: readonly string[]): void;
  close(): void;
}

export interface FileWatchDeps {
  readonly clock: Clock;
  readonly pollMs: number;
  /** Changes that come together are told once. */
  readonly settleMs: number;
  readonly changed: () => void;
}

/** A file that is written to without pause is looked at anyway after this many settling times. */
const MAX_SETTLES = 10;

export function watchFiles({ clock, pollMs, settleMs, changed }: FileWatchDeps): FileWatch {
  const folders = new Map<string, FSWatcher>();
  let watched: readonly string[] = [];
  /** What the files looked like last time; empty: not looked at yet, which counts as changed. */
  let marks = '';
  let settling: Timer | null = null;
  let touchedAt = 0;
  let polling: Timer | null = null;
  let closed = false;

  // Re-armed by each touch: a file that is being written is read when it is whole.
  function touched(): void {
    if (closed) return;
    if (settling === null) touchedAt = clock.now();
    else if (clock.now() - touchedAt > settleMs * MAX_SETTLES) return;
    settling?.clear();
    settling = clock.setTimer(settleMs, () => {
      settling = null;
      look().catch(() => undefined);
    });
    settling.unref?.();
  }

  /** Many things happen in a folder; only what happens to these files matters. */
  async function look(): Promise<void> {
    const now = await marksOf(watched);
    if (closed || now === marks) return;
    marks = now;
    changed();
  }

  function poll(): void {
    if (closed) return;
    polling = clock.setTimer(pollMs, () => {
      look().then(poll, poll);
    });
    polling.unref?.();
  }

  function watchFolder(folder: string): void {
    const drop = (): void => {
      folders.get(folder)?.close();
      folders.delete(folder);
    };
    try {
      const watcher = watch(folder, { persistent: false }, touched);
      // The folder went, or the system has no more watches: polling goes on alone.
      watcher.on('error', drop);
      folders.set(folder, watcher);
    } catch {
      drop();
    }
  }

  poll();
  return {
    files(next) {
      if (next.join('\0') === watched.join('\0')) return;
      watched = next;
      marks = '';
      const wanted = new Set(next.map((file) => dirname(file)));
      for (const [folder, watcher] of folders) {
        if (wanted.has(folder)) continue;
        watcher.close();
        folders.delete(folder);
      }
      for (const folder of wanted) if (!folders.has(folder)) watchFolder(folder);
    },
    close() {
      closed = true;
      settling?.clear();
      polling?.clear();
      for (const watcher of folders.values()) watcher.close();
      folders.clear();
    },
  };
}

/** One text for the state of all files; symlinks are followed, so a swapped one shows. */
async function marksOf(files: readonly string[]): Promise<string> {
  const each = files.map((file) =>
    stat(file).then(
      ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
      () => 'absent',
    ),
  );
  return (await Promise.all(each)).join('|');
}
