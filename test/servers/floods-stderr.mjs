// Tool `spam {newlines}` writes 200 KB to stderr, in lines or (newlines: false) as one, then answers (GB-021). Also
// prints LEAK, if set, when it starts.
import { ECHO, echo, serve, text, tool } from './stdio.mjs';

if (process.env.LEAK !== undefined) process.stderr.write(`using ${process.env.LEAK}\n`);
serve({
  tools: [ECHO, tool('spam', { newlines: { type: 'boolean' } })],
  call(name, args) {
    if (name === 'echo') return echo(name, args);
    const line = 'spam '.repeat(20) + (args.newlines === false ? ' ' : '\n');
    process.stderr.write(line.repeat(2000));
    return text('spammed');
  },
});
