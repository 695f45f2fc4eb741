// The file that a spec's command means, or why there is none, in words for people. Asked before spawning, because the
// wrapper that carries the death signal would hide the reason.

import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import type { StdioSpec } from '@lockkeeper/protocol/config/settings';

export type FoundCommand = { readonly kind: 'found'; readonly file: string } | { readonly kind: 'no'; words: string };

export function findCommand(stdio: Pick<StdioSpec, 'command' | 'cwd'>, path: string): FoundCommand {
  const { command, cwd } = stdio;
  if (command === '') return { kind: 'no', words: 'the command is empty' };
  if (!isDirectory(cwd)) return { kind: 'no', words: `working directory not found: ${cwd}` };
  const places = command.includes('/')
    ? [resolve(cwd, command)]
    : path
        .split(delimiter)
        .filter((dir) => dir !== '')
        .map((dir) => resolve(cwd, dir, command));
  const files = places.filter(isFile);
  const file = files.find(isExecutable);
  if (file !== undefined) return { kind: 'found', file };
  if (files.length > 0) return { kind: 'no', words: `permission denied: ${command} is not executable` };
  if (places.some(isDirectory)) return { kind: 'no', words: `not a program but a directory: ${command}` };
  return { kind: 'no', words: `command not found: ${command}` };
}

/** For what only the system knows. `code` is an errno name. */
export function spawnFaultWords(code: string | undefined, command: string): string {
  switch (code) {
    case 'ENOENT':
      return `command not found: ${command}`;
    case 'EACCES':
    case 'EPERM':
      return `permission denied: ${command}`;
    case 'EAGAIN':
      return 'the limit on the number of processes is reached';
    case 'EMFILE':
    case 'ENFILE':
      return 'the limit on open files is reached';
    case 'ENOMEM':
      return 'there is not enough memory to start a process';
    case 'E2BIG':
      return 'its arguments and environment are too long';
    default:
      return `${command} could not be executed (${code ?? 'unknown reason'})`;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
