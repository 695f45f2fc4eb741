// Descriptors that whoever started us left open would be open in every child too (auth-security I-11): a shell's lock file, a
// supervisor's pipe. What this process opens itself is closed on exec by the system; what is not, is not ours.

import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** Linux; other architectures than SPARC and Alpha agree on it. */
const O_CLOEXEC = 0o2000000;
const STDERR = 2;

/**
 * At the start of a process that starts children. `channel`: NODE_CHANNEL_FD, by which a parent that is Node speaks to it.
 * Gives those that it closed.
 */
export function closeInherited(channel: string | undefined): number[] {
  return openDescriptors().filter((fd) => fd > STDERR && String(fd) !== channel && staysOpen(fd) && close(fd));
}

function openDescriptors(): number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number);
  } catch {
    return [];
  }
}

function staysOpen(fd: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
  } catch {
    return false;
  }
}

function close(fd: number): boolean {
  try {
    closeSync(fd);
    return true;
  } catch {
    return false;
  }
}
