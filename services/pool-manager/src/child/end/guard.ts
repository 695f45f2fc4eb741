// Ends what a pool manager leaves behind that is killed without warning (GB-015). Its own children get the death signal
// where there is one; what they started does not, and no other node of this machine may ever be started to sweep. A shell
// waits at a pipe that only this process holds: told a word it goes, at the pipe's end it sweeps by the mark as we would.

import { type ChildProcess, spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { MARK } from '../environment.ts';
import { managerLimit } from './limit-mark.ts';

export interface Guard {
  /** Before a child is started. Without a shell it is done without. */
  stand(): void;
  /** Nothing is left to look after. */
  end(): void;
}

export interface GuardDeps {
  /** How marks and private directories of this manager begin. */
  readonly self: string;
  readonly path: string;
  /** Where private directories are made. */
  readonly tmpDir: string;
}

/** Nothing of a spec is in it. Again and again, since what is to end may be forking; but not for ever. */
const SCRIPT = `trap '' HUP INT TERM
if read -r word; then exit 0; fi
rounds=0
while [ $rounds -lt 50 ]; do
  rounds=$((rounds + 1))
  left=
  marked=$(
    grep -zls "^${MARK}=$1[.]" /proc/[0-9]*/environ
    grep -ls "^Max realtime timeout  *[0-9]*  *$3 " /proc/[0-9]*/limits
  )
  for file in $marked; do
    pid=\${file#/proc/}
    pid=\${pid%/*}
    read -r stat < "/proc/$pid/stat" || continue
    case "$stat" in *") Z "*) continue ;; esac
    left="$left $pid"
  done
  [ -n "$left" ] || break
  kill -9 $left
  sleep 0.1
done
chmod -R u+rwX "$2/lockkeeper-$1-"*
rm -rf "$2/lockkeeper-$1-"*`;

export function createGuard({ self, path, tmpDir }: GuardDeps): Guard {
  let shell: ChildProcess | null = null;

  function begin(): ChildProcess {
    const begun = spawn(
      '/bin/sh',
      ['-c', SCRIPT, 'lockkeeper-guard', self, tmpDir, String(managerLimit(self) ?? 'none')],
      {
        cwd: '/',
        env: { PATH: path },
        stdio: ['pipe', 'ignore', 'ignore'],
        // A signal to our group or from our terminal is not for it.
        detached: true,
      },
    );
    const gone = () => {
      if (shell === begun) shell = null;
    };
    begun.on('error', gone);
    begun.on('exit', gone);
    begun.stdin?.on('error', () => {});
    // We wait for it in nothing.
    begun.unref();
    (begun.stdin as (Writable & { unref?(): void }) | null)?.unref?.();
    return begun;
  }

  return {
    stand() {
      try {
        shell ??= begin();
      } catch {
        // What stands against it stands against the child, too, and is said there.
      }
    },
    end() {
      shell?.stdin?.end('done\n');
      shell = null;
    },
  };
}
