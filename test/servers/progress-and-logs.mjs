// Tool `work {steps, everyMs, label}` sends a progress notification (if it got a token) and a log message (legacy:
// always; modern: if asked for by _meta) for each step, then answers. `backwards` sends progress that falls, `unasked`
// progress with a token it made up (GB-084). Its last log message's data tells the level set.
import { isModern, notify, serve, text, tool } from './stdio.mjs';

let level = 'info';
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

async function work(args, message) {
  const token = message.params._meta?.progressToken;
  const asked = isModern(message) ? message.params._meta['io.modelcontextprotocol/logLevel'] : level;
  const total = args.steps ?? 3;
  for (let progress = 1; progress <= total; progress++) {
    if (token !== undefined) {
      notify('notifications/progress', {
        progressToken: token,
        progress,
        total,
        message: `${args.label ?? 'step'} ${progress}`,
      });
    }
    if (asked !== undefined)
      notify('notifications/message', { level: 'info', logger: 'work', data: { progress, asked } });
    await pause(args.everyMs ?? 0);
  }
  return text(`${total} steps`);
}

serve({
  capabilities: { logging: {} },
  tools: [
    tool('work', { steps: { type: 'integer' }, everyMs: { type: 'integer' } }),
    tool('backwards'),
    tool('unasked'),
  ],
  methods: {
    'logging/setLevel': (params) => {
      level = params.level;
      return {};
    },
  },
  call(name, args, message) {
    if (name === 'work') return work(args, message);
    const progressToken = name === 'unasked' ? `tool-call-${message.id}` : message.params._meta?.progressToken;
    if (progressToken !== undefined) {
      for (const progress of [5, 3, 5, 8]) notify('notifications/progress', { progressToken, progress });
    }
    return text(name);
  },
});
