// The soak for as long as one likes: `node ops/dev/run.mjs test/soak/run.ts [--minutes 60] [--crowd 24] [--seed 7]`.

import { parseArgs } from 'node:util';
import { soak } from './soak.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    crowd: { type: 'string', default: '24' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});

const loadMs = Number(values.minutes) * 60_000;
const { faults } = await soak({
  seed: Number(values.seed),
  loadMs,
  warmUpMs: Math.min(20_000, loadMs / 4),
  crowd: Number(values.crowd),
  say: (words) => console.log(words),
});
for (const fault of faults) console.log(`✗ ${fault}`);
if (faults.length === 0) console.log('✓ nothing crossed, nothing is left, every call was answered');
process.exitCode = faults.length === 0 ? 0 : 1;
