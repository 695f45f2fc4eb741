// Starts, reads, never answers anything. Ends when stdin closes (GB-017, GB-020, GB-035). SPIN=1: burns a core and
// does not even read (GB-024).
import { lines } from './stdio.mjs';

if (process.env.SPIN === '1') for (;;) Math.random();
lines(() => {});
