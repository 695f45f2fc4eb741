// Starts a grandchild that ignores SIGTERM, SIGHUP and the end of stdin, as `npx` wrappers do (GB-015); DETACHED=1: in a
// session of its own, out of the process group. Tool `grandchild` tells its pid. Ends itself when stdin closes.
import { spawn } from 'node:child_process';
import { ECHO, echo, serve, text, tool } from './stdio.mjs';

const stubborn = "for (const s of ['SIGTERM','SIGHUP','SIGINT']) process.on(s, () => {}); setInterval(() => {}, 60000)";
const detached = process.env.DETACHED === '1';
const grandchild = spawn(process.execPath, ['-e', stubborn], { stdio: detached ? 'ignore' : 'inherit', detached });

serve({
  tools: [ECHO, tool('grandchild')],
  call: (name, args) => (name === 'echo' ? echo(name, args) : text(grandchild.pid)),
});
