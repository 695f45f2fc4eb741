// Modern. Answers server/discover and calls, but never tools/list (GB-041).
import { serve } from './stdio.mjs';

serve({ era: 'modern', before: (message) => message.method === 'tools/list' });
