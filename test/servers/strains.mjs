// Good, but much at once: `big {size}` answers with a text of that many bytes, `length {text}` says how much it was given,
// `talk {times, bytes}` tells progress and logs of that size, as fast as they are taken, before it answers, `deaf {ms}`
// answers and then reads nothing for so long, `pid` tells its process.
import { ECHO, echo, notify, serve, text, tool } from './stdio.mjs';

let level = 'emergency';

async function talk({ times, bytes }, message) {
  const { progressToken } = message.params._meta ?? {};
  const data = 'x'.repeat(bytes);
  for (let i = 1; i <= times; i++) {
    if (progressToken !== undefined) notify('notifications/progress', { progressToken, progress: i, message: data });
    if (level !== 'emergency') notify('notifications/message', { level: 'info', data });
    if (process.stdout.writableNeedDrain) await new Promise((resolve) => process.stdout.once('drain', resolve));
  }
  return text(times);
}

function deaf({ ms }) {
  setImmediate(() => process.stdin.pause());
  setTimeout(() => process.stdin.resume(), ms);
  return text('deaf');
}

const TOOLS = {
  big: ({ size }) => text('x'.repeat(size)),
  length: (args) => text(args.text.length),
  pid: () => text(process.pid),
  talk,
  deaf,
};

serve({
  tools: [ECHO, ...Object.keys(TOOLS).map((name) => tool(name))],
  capabilities: { logging: {} },
  methods: {
    'logging/setLevel': (params) => {
      level = params.level;
      return {};
    },
  },
  call: (name, args, message) => (name === 'echo' ? echo(name, args) : TOOLS[name](args, message)),
});
