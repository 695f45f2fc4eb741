// Its tool `daemon` starts a real daemon, double-forked, in a session of its own, in `/`, with an empty environment, no open
// file of ours and deaf to SIGTERM, and tells its pid (GB-015). Nothing but what the kernel knows tells whose it is.
import { execFileSync } from 'node:child_process';
import { ECHO, echo, serve, text, tool } from './stdio.mjs';

const DAEMON = `cd /; (trap '' TERM HUP; exec sleep 1000) </dev/null >/dev/null 2>&1 & echo $!`;

function daemon() {
  return execFileSync('/usr/bin/env', ['-i', '/bin/sh', '-c', `exec setsid /bin/sh -c "$0"`, DAEMON], {
    encoding: 'utf8',
  });
}

serve({
  tools: [ECHO, tool('daemon')],
  call: (name, args) => (name === 'echo' ? echo(name, args) : text(Number(daemon()))),
});
