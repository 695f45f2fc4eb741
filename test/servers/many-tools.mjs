// No habit of its own: TOOLS tools (default 700) in pages of PAGE (default 50), each with a description of PADDING
// characters, and the eighth with one of HUGE. Tool `fail {at}`: the next time the page that begins there is asked for, it
// is an error, once (GB-132, GB-135).
import { fail, reply, serve, text, tool } from './stdio.mjs';

const { TOOLS = '700', PAGE = '50', PADDING = '10', HUGE = '10' } = process.env;
const tools = Array.from({ length: Number(TOOLS) }, (_, n) => ({
  ...tool(n === 0 ? 'fail' : `tool-${n}`),
  description: 'd'.repeat(Number(n === 7 ? HUGE : PADDING)),
}));
let failing = -1;

serve({
  tools,
  before(message) {
    if (message.method !== 'tools/list') return false;
    const from = Number(message.params?.cursor ?? 0);
    if (from === failing) {
      failing = -1;
      fail(message, -32603, 'this page is lost');
      return true;
    }
    const to = from + Number(PAGE);
    reply(message, { tools: tools.slice(from, to), ...(to < tools.length && { nextCursor: `${to}` }) });
    return true;
  },
  call(name, args) {
    if (name === 'fail') failing = args.at;
    return text(name);
  },
});
