// Ignores the end of stdin, SIGTERM, SIGINT and SIGHUP: only SIGKILL ends it.
import { serve } from './stdio.mjs';

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
setInterval(() => {}, 60_000);
serve({ onEnd: () => {} });
