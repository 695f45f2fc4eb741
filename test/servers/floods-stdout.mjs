// Tool `flood {lines}` writes that many log notifications (default 5000) at once, then answers.
import { ECHO, echo, notify, serve, text, tool } from './stdio.mjs';

serve({
  capabilities: { logging: {} },
  tools: [ECHO, tool('flood', { lines: { type: 'integer' } })],
  methods: { 'logging/setLevel': () => ({}) },
  call(name, args) {
    if (name === 'echo') return echo(name, args);
    const count = args.lines ?? 5000;
    for (let i = 0; i < count; i++) notify('notifications/message', { level: 'debug', data: `line ${i}` });
    return text(`${count} lines`);
  },
});
