// Answers server/discover with error CODE (default -32601). ANSWER=no-id: without an id; silent: not at all, and nothing
// else either until `initialize` came; newer: -32022 that names only 2026-10-01, and has no initialize; modern: -32022
// that names 2026-07-28 the first time. INIT_MS: `initialize` is answered so much later (GB-034 to GB-036, GB-039).
import { fail, send, serve } from './stdio.mjs';

const { ANSWER = 'error', CODE = '-32601', INIT_MS = '0' } = process.env;
let introduced = false;
let refused = 0;

function refuse(message) {
  if (ANSWER === 'no-id') return send({ error: { code: Number(CODE), message: 'not yet' } });
  if (ANSWER === 'newer' || ANSWER === 'modern') {
    const supported = [ANSWER === 'newer' ? '2026-10-01' : '2026-07-28'];
    return fail(message, -32022, 'Unsupported protocol version', { supported, requested: '2026-07-28' });
  }
  if (ANSWER !== 'silent') fail(message, Number(CODE), 'not here');
}

serve({
  era: ANSWER === 'newer' || ANSWER === 'modern' ? 'modern' : 'legacy',
  before(message, handle) {
    if (message.method === 'server/discover' && !(ANSWER === 'modern' && refused++ > 0)) {
      refuse(message);
      return true;
    }
    if (message.method !== 'initialize') return ANSWER === 'silent' && !introduced;
    introduced = true;
    setTimeout(() => handle(message), Number(INIT_MS));
    return true;
  },
});
