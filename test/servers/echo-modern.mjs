// No bad habit: a modern-only server (server/discover, tools/list, tools/call `echo {text}`); `_meta` is required,
// another revision is answered -32022, `initialize` -32601.
import { serve } from './stdio.mjs';

serve({ era: 'modern' });
