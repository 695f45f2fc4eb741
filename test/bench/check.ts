// The thresholds this project holds itself to, one line each; only `--check` makes them fail a run.

import type { Flood } from './flood.ts';
import type { Row, Sample } from './table.ts';

export interface Verdict {
  readonly good: boolean;
  readonly text: string;
}

interface MeasuredCell {
  readonly cell: { readonly payload: number; readonly concurrency: number };
  readonly rows: readonly Row[];
}

const MEMORY_MB = 600;

export function judge(measured: readonly MeasuredCell[], flood: Flood | null): readonly Verdict[] {
  const verdicts: Verdict[] = [];
  const sample = (concurrency: number, target: string): Sample | undefined =>
    measured
      .find(({ cell }) => cell.payload === 200 && cell.concurrency === concurrency)
      ?.rows.find((row) => row.target === target)?.sample;
  const ours = sample(32, 'lockkeeper');
  const atLeast = (base: string, want: number, why: string) => {
    const other = sample(32, base);
    if (!ours || !other) return;
    const ratio = ours.perSecond / other.perSecond;
    verdicts.push({
      good: ratio >= want,
      text: `200 B, 32 at once: ${ratio.toFixed(2)} × ${base} (want ${want}${why})`,
    });
  };
  atLeast('fastify echo', 0.25, ', aim 0.40');
  atLeast('mcp-proxy 6.7', 4, '');
  atLeast('mcp-proxy, a session each', 4, '');
  atLeast('supergateway 4', 2, '');
  const single = sample(1, 'lockkeeper');
  const origin = sample(1, 'fastify echo');
  if (single && origin) {
    const ratio = single.p50 / origin.p50;
    verdicts.push({ good: ratio <= 6, text: `200 B, 1 at once: p50 ${ratio.toFixed(1)} × the echo's (at most 6)` });
  }
  if (flood) {
    verdicts.push({
      good: flood.ratio <= 3,
      text: `small calls beside the flood: p50 × ${flood.ratio.toFixed(1)} (at most 3)`,
    });
    for (const { name, peak } of flood.peaks) {
      verdicts.push({ good: peak <= MEMORY_MB, text: `${name} at most ${peak} MB (at most ${MEMORY_MB})` });
    }
  }
  return verdicts;
}
