// Prints a banner and other noise on stdout, before the first answer and after every one (GB-029). Tool `garbage {lines}`
// prints that many lines that are not JSON, then answers; `bytes` prints a line that is not UTF-8, then answers.
import { ECHO, echo, serve, text, tool, write } from './stdio.mjs';

for (const noise of ['Server v1.2 ready', '', '[info] {not json', '{"level":"info"}', '123', 'null', '[]'])
  write(noise);
serve({
  tools: [ECHO, tool('garbage', { lines: { type: 'integer' } }), tool('bytes')],
  call(name, args) {
    setImmediate(() => write('Done.'));
    if (name === 'echo') return echo(name, args);
    if (name === 'bytes') process.stdout.write(Buffer.from('{"jsonrpc":"2.0","id":1,"result":"\xff\xfe"}\n', 'latin1'));
    for (let i = 0; i < (args.lines ?? 0); i++) write(`list_tools requested ${i}`);
    return text('noise');
  },
});
