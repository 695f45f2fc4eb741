// No bad habit: a legacy server (initialize, ping, tools/list, tools/call `echo {text}`), all four legacy revisions.
import { serve } from './stdio.mjs';

serve({ era: 'legacy' });
