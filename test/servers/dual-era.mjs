// No bad habit: answers `initialize` as a legacy server and any request with modern `_meta` as a modern one.
import { serve } from './stdio.mjs';

serve({ era: 'dual' });
