// Puts rounds together by their medians and prints them, plain text that can be committed as it is.

import type { LoadResult } from './wishes.ts';

export interface Sample extends LoadResult {
  /** CPU of the target's own processes a call, in microseconds; null where nobody stands in between. */
  readonly cpuUs: number | null;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function middle(samples: readonly Sample[]): Sample {
  const of = (pick: (sample: Sample) => number) => median(samples.map(pick));
  const cpu = samples.map(({ cpuUs }) => cpuUs).filter((value) => value !== null);
  return {
    calls: samples.reduce((sum, { calls }) => sum + calls, 0),
    perSecond: of(({ perSecond }) => perSecond),
    p50: of(({ p50 }) => p50),
    p99: of(({ p99 }) => p99),
    cpuUs: cpu.length > 0 ? median(cpu) : null,
  };
}

function figure(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function bytesName(bytes: number): string {
  if (bytes >= 1024 * 1024) return `${bytes / (1024 * 1024)} MB`;
  return bytes >= 1024 ? `${bytes / 1024} KB` : `${bytes} B`;
}

export interface Row {
  readonly target: string;
  readonly sample: Sample;
}

/** One block a payload and concurrency; ratios are to the row named by `base`. */
export function block(title: string, rows: readonly Row[], base: string): string {
  const origin = rows.find(({ target }) => target === base)?.sample;
  const head = ['', 'calls/s', 'ratio', 'p50 ms', 'p99 ms', '+p50 ms', 'p50 ×', 'CPU µs'];
  const lines = rows.map(({ target, sample }) => [
    target,
    figure(sample.perSecond),
    origin ? (sample.perSecond / origin.perSecond).toFixed(2) : '–',
    figure(sample.p50),
    figure(sample.p99),
    origin ? figure(sample.p50 - origin.p50) : '–',
    origin ? (sample.p50 / origin.p50).toFixed(1) : '–',
    sample.cpuUs === null ? '–' : sample.cpuUs.toFixed(0),
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((line) => line[column]!.length)));
  const print = (line: readonly string[]) =>
    line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  ');
  return [title, print(head), ...lines.map(print), ''].join('\n');
}
