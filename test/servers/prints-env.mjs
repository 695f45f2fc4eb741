// No bad habit: tool `env` answers with JSON of {env, cwd, argv, fds, pid, pgid}, what the process can see of its start.
import { readdirSync, readFileSync } from 'node:fs';
import { serve, text, tool } from './stdio.mjs';

const fds = readdirSync('/proc/self/fd').map(Number);
const stat = readFileSync('/proc/self/stat', 'utf8');
const pgid = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);

serve({
  tools: [tool('env')],
  call: () =>
    text(JSON.stringify({ env: process.env, cwd: process.cwd(), argv: process.argv, fds, pid: process.pid, pgid })),
});
