// Says "boom" on stderr and exits with EXIT_CODE (default 1), at once or after EXIT_AFTER_MS (GB-018, GB-025, GB-027).
// With GOOD_FILE naming a file that exists it is a good server instead, so that a test can repair it.
import { existsSync } from 'node:fs';
import { serve } from './stdio.mjs';

if (process.env.GOOD_FILE !== undefined && existsSync(process.env.GOOD_FILE)) serve();
else {
  process.stderr.write('boom: cannot find module "left-pad"\n');
  setTimeout(() => process.exit(Number(process.env.EXIT_CODE ?? 1)), Number(process.env.EXIT_AFTER_MS ?? 0));
}
