// Keeps state in its process: tool `count` answers with JSON of {pid, count}, one higher at each call; `remember {value}`
// gives back what the call before left. A process lent to a second person shows it.
import { serve, text, tool } from './stdio.mjs';

let count = 0;
let memory = null;
serve({
  tools: [tool('count'), tool('remember', { value: { type: 'string' } })],
  call(name, args) {
    if (name === 'count') return text(JSON.stringify({ pid: process.pid, count: ++count }));
    const before = memory;
    memory = args.value ?? null;
    return text(JSON.stringify({ pid: process.pid, before }));
  },
});
