// Exits (EXIT_CODE, default 1) when its first message is not `initialize`, as rmcp-based servers do (GB-037).
import { serve } from './stdio.mjs';

let first = true;
serve({
  before(message) {
    if (first && message.method !== 'initialize') process.exit(Number(process.env.EXIT_CODE ?? 1));
    first = false;
    return false;
  },
});
