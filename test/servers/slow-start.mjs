// Reads nothing for START_MS (default 500), then is a good server.
import { serve } from './stdio.mjs';

setTimeout(() => serve(), Number(process.env.START_MS ?? 500));
