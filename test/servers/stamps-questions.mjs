// A legacy server that asks and says when, in nanoseconds of the machine's monotonic clock: `ask` puts the time it wrote
// its question into it and gives back when the answer came, `plain` when its call came and when it answered. For the
// bench, whose client is on the same machine.

import { send, serve, text, tool } from './stdio.mjs';

const FORM = { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] };
const now = () => String(process.hrtime.bigint());
const open = new Map();
let next = 0;

function ask() {
  const id = `q${++next}`;
  return new Promise((resolve) => {
    open.set(id, () => resolve(text(`got=${now()}`)));
    send({
      id,
      method: 'elicitation/create',
      params: { message: `Which code? asked=${now()}`, requestedSchema: FORM },
    });
  });
}

serve({
  tools: [tool('ask'), tool('plain')],
  before(message) {
    if (message.method !== undefined) return false;
    open.get(message.id)?.();
    return open.delete(message.id);
  },
  call: (name) => (name === 'ask' ? ask() : text(`got=${now()}`)),
});
