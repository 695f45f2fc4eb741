// What every main has in common: which configuration file, how it is read again, what a signal does, what is printed.
// Faults of the configuration end the process with all of them at once and exit code 2.

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ConfigError, type ConfigFault, faultLine } from '../config/faults.ts';
import { type WatchedConfig, watchConfig } from '../config/watch.ts';

export interface Ready {
  readonly [name: string]: string;
}

export interface RunningService {
  readonly ready: Ready;
  /** Printed for people instead of the ready line. */
  readonly banner?: string;
  /** Lets work end, then ends everything. */
  close(): Promise<void>;
  /** What `close` waits for is not waited for any longer. Absent: a second signal ends the process as it stands. */
  hurry?(): void;
}

/** Where reports about the configuration go: standard error until the service has a log. */
export interface Tell {
  /** `flush` writes out what the log still holds, so that the last sentence is the last. */
  by(report: (words: string) => void, flush: () => Promise<void>): void;
}

export type StartService = (config: WatchedConfig, tell: Tell) => Promise<RunningService>;

const USAGE = 'Usage: --config FILE (or LOCKKEEPER_CONFIG=FILE). See ops/config-reference.md.';

export async function runService(name: string, start: StartService): Promise<void> {
  checkNode();
  const path = configPath();
  let report: (words: string) => void = (words) => process.stderr.write(`${name}: ${words}\n`);
  let flush = async (): Promise<void> => undefined;
  const tellFaults = (faults: readonly ConfigFault[]): void => {
    report(`the configuration has faults, the last good one stays:\n${faults.map(faultLine).join('\n')}`);
  };
  try {
    const config = watchConfig(path, {
      env: process.env,
      onFaults: tellFaults,
      onRestartNeeded: (settings) => report(`restart to apply changes of: ${settings.join(', ')}`),
      onListenerError: (error) => report(`a reload was not taken everywhere: ${String(error)}`),
    });
    const service = await start(config, {
      by: (next, flushNext) => {
        report = next;
        flush = flushNext;
      },
    });
    endOnSignal(config, service, (words) => report(words));
    say(service);
  } catch (error) {
    await flush();
    const faults = error instanceof ConfigError ? error.faults.map(faultLine).join('\n') : null;
    process.stderr.write(
      `${faults ?? `${name} could not start: ${error instanceof Error ? error.message : String(error)}`}\n`,
    );
    process.exit(faults === null ? 1 : 2);
  }
}

function checkNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 22)) return;
  process.stderr.write(
    `Lockkeeper needs Node 22.22 or later, this is ${process.versions.node}; npm start brings its own.\n`,
  );
  process.exit(1);
}

/** Absolute, so that a message about it says where was looked. */
function configPath(): string {
  const path = givenPath();
  if (path !== undefined && path !== '') return resolve(path);
  process.stderr.write(`${USAGE}\n`);
  process.exit(2);
}

function givenPath(): string | undefined {
  try {
    const { values } = parseArgs({ options: { config: { type: 'string' } }, strict: true });
    return values.config ?? process.env.LOCKKEEPER_CONFIG;
  } catch (error) {
    // Its first sentence names the argument; what follows is about programs.
    const [said = ''] = (error instanceof Error ? error.message : String(error)).split(/\. |\n/);
    process.stderr.write(`${said}.\n`);
    return undefined;
  }
}

function say({ ready, banner }: RunningService): void {
  if (process.env.LOCKKEEPER_READY === 'json') process.stdout.write(`${JSON.stringify({ ready: true, ...ready })}\n`);
  else if (banner !== undefined) process.stdout.write(`${banner}\n`);
}

function endOnSignal(config: WatchedConfig, service: RunningService, report: (words: string) => void): void {
  let signals = 0;
  const end = (signal: string): void => {
    // A second signal means now, a third one at any price.
    if (++signals > (service.hurry === undefined ? 1 : 2)) process.exit(1);
    if (signals > 1) {
      report(`${signal} again: what is not over is ended`);
      service.hurry?.();
      return;
    }
    report(`${signal}: draining`);
    config.close();
    service.close().then(
      () => process.exit(0),
      (error: unknown) => {
        report(`the end was not clean: ${String(error)}`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => end('SIGTERM'));
  process.on('SIGINT', () => end('SIGINT'));
  process.on('SIGHUP', () => config.reload());
}
