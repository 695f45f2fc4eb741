// No bad habit: tool `big {size}` answers with a text of that many bytes (default 1 MB).
import { ECHO, echo, serve, text, tool } from './stdio.mjs';

serve({
  tools: [ECHO, tool('big', { size: { type: 'integer' } })],
  call: (name, args) => (name === 'echo' ? echo(name, args) : text('x'.repeat(args.size ?? 1_000_000))),
});
