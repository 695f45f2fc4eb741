// Tool `crash` ends the process with code 3 before answering; `kill` by SIGKILL; `close` closes stdout and stays alive
// (GB-023 variant); `echo` works.
import { closeSync } from 'node:fs';
import { ECHO, echo, serve, tool } from './stdio.mjs';

serve({
  tools: [ECHO, tool('crash'), tool('kill'), tool('close')],
  call(name, args) {
    if (name === 'echo') return echo(name, args);
    if (name === 'kill') process.kill(process.pid, 'SIGKILL');
    if (name === 'close') return closeSync(1);
    process.stderr.write('fatal: out of cheese\n');
    process.exit(3);
  },
});
