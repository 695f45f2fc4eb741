// Tool `endless {bytes, end}` answers with one line of about that many bytes (default 16 MiB), written in 64 KB pieces; with
// end: false its newline never comes and nothing later gets through (GB-032, T-60). `echo` works before it.
import { ECHO, echo, serve, tool } from './stdio.mjs';

serve({
  tools: [ECHO, tool('endless', { bytes: { type: 'integer' }, end: { type: 'boolean' } })],
  call(name, args, message) {
    if (name === 'echo') return echo(name, args);
    process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"content":[],"pad":"`);
    for (let left = args.bytes ?? 16 * 1024 * 1024; left > 0; left -= 65536) {
      process.stdout.write('x'.repeat(Math.min(left, 65536)));
    }
    if (args.end !== false) process.stdout.write('"}}\n');
  },
});
