// The configuration of a running process: loads the file, and loads it again when it or a file it refers to changes
// (design §7). A snapshot is swapped whole; a bad file keeps the last good one and is reported.

import type { ConfigSource, Snapshot } from '@lockkeeper/protocol/config/settings';
import { type Clock, systemClock, type Timer } from '../clock.ts';
import { isLoopback } from './check/auth.ts';
import { ConfigError, type ConfigFault } from './faults.ts';
import { watchFiles } from './files.ts';
import { type Environment, readConfig } from './load.ts';
import { asRunning, needsRestart } from './restart.ts';

export interface WatchOptions {
  readonly env: Environment;
  /** A file with faults was found; the snapshot before it stays. Told once for the same faults. */
  readonly onFaults: (faults: readonly ConfigFault[]) => void;
  /** Settings, by name, that changed in the file and wait for a restart. Told once for the same ones. */
  readonly onRestartNeeded: (settings: readonly string[]) => void;
  /** A listener of `onChange` threw; the others were told. */
  readonly onListenerError?: (error: unknown) => void;
  readonly clock?: Clock;
  readonly pollMs?: number;
  readonly settleMs?: number;
}

export interface WatchedConfig extends ConfigSource {
  /** Looks at once: for SIGHUP. */
  reload(): void;
  close(): void;
}

type Listener = (next: Snapshot, previous: Snapshot) => void;

const POLL_MS = 5000;
const SETTLE_MS = 100;

/** Throws a ConfigError when the file is bad at the start: then there is no last good one. */
export function watchConfig(path: string, options: WatchOptions): WatchedConfig {
  const listeners = new Set<Listener>();
  const first = readConfig(path, options.env);
  const started = first.snapshot;
  const { clock = systemClock, settleMs = SETTLE_MS } = options;
  let current = started;
  /** Found once, and not told yet. */
  let doubted = '';
  let second: Timer | null = null;
  let toldFaults = '';
  let toldRestart = '';

  const watch = watchFiles({
    clock,
    pollMs: options.pollMs ?? POLL_MS,
    settleMs,
    changed: reload,
  });
  watch.files(first.files);

  /** A file may be read while it is being written: its faults are told when they are found again a moment later. */
  function refuse(faults: readonly ConfigFault[]): void {
    const found = JSON.stringify(faults);
    const isSure = found === doubted;
    noDoubt();
    if (found === toldFaults) return;
    if (isSure) {
      toldFaults = found;
      options.onFaults(faults);
      return;
    }
    doubted = found;
    second = clock.setTimer(settleMs, reload);
    second.unref?.();
  }

  function noDoubt(): void {
    second?.clear();
    doubted = '';
  }

  function reload(): void {
    try {
      const { snapshot, files } = readConfig(path, options.env);
      watch.files(files);
      accept(snapshot);
    } catch (error) {
      const known = error instanceof ConfigError ? error : asFault(path, error);
      watch.files([...new Set([...first.files, ...known.files])]);
      refuse(known.faults);
    }
  }

  function accept(read: Snapshot): void {
    const restart = needsRestart(started, read);
    const next = asRunning(started, read);
    // The file is right by itself, but the socket is still bound to the old address.
    if (next.auth.mode === 'open' && !isLoopback(next.listen.host)) {
      const words = `auth.mode: open would open the running address ${next.listen.host}, which is not loopback: restart`;
      refuse([{ file: path, line: 1, column: 1, words }]);
      return;
    }
    noDoubt();
    toldFaults = '';
    if (restart.length > 0 && restart.join() !== toldRestart) options.onRestartNeeded(restart);
    toldRestart = restart.join();
    if (next.version === current.version) return;
    const previous = current;
    current = next;
    for (const listener of [...listeners]) tell(listener, next, previous);
  }

  function tell(listener: Listener, next: Snapshot, previous: Snapshot): void {
    try {
      listener(next, previous);
    } catch (error) {
      options.onListenerError?.(error);
    }
  }

  return {
    current: () => current,
    onChange(listener) {
      const own: Listener = (next, previous) => listener(next, previous);
      listeners.add(own);
      return () => {
        listeners.delete(own);
      };
    },
    reload,
    close() {
      watch.close();
      noDoubt();
      listeners.clear();
    },
  };
}

/** A reload never ends the process, whatever happens in it. */
function asFault(path: string, error: unknown): ConfigError {
  const words = `the file could not be taken (${error instanceof Error ? error.name : 'unknown'})`;
  return new ConfigError([{ file: path, line: 1, column: 1, words }], []);
}
