// Tool `wait` never answers; `late` answers only after its cancel came; `cancelled` answers with JSON of the cancels seen
// so far ([{requestId, reason}]); `echo` works (GB-087, GB-088).
import { ECHO, echo, reply, serve, text, tool } from './stdio.mjs';

const cancels = [];
const late = new Map();

serve({
  tools: [ECHO, tool('wait'), tool('late'), tool('cancelled')],
  before(message) {
    if (message.method !== 'notifications/cancelled') return false;
    const { requestId, reason } = message.params;
    cancels.push({ requestId, reason });
    const held = late.get(requestId);
    if (held !== undefined) reply(held, text('too late'));
    return true;
  },
  call(name, args, message) {
    if (name === 'late') late.set(message.id, message);
    if (name === 'cancelled') return text(JSON.stringify(cancels));
    return name === 'echo' ? echo(name, args) : undefined;
  },
});
