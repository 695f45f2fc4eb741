// Numbers that every exchange adds to: plain ones, told to prom-client only when somebody looks, since its own way of
// counting hashes all labels each time. Bounded because the labels are.

import { Counter, type MetricValue, type Registry } from 'prom-client';

type Labels = Record<string, string>;

/** One label's values, each with those of the next label below it; the last level counts. */
export class Tally {
  private readonly below = new Map<string, Tally>();
  private n = 0;

  at(label: string): Tally {
    let found = this.below.get(label);
    if (found === undefined) {
      found = new Tally();
      this.below.set(label, found);
    }
    return found;
  }

  add(): void {
    this.n += 1;
  }

  each(names: readonly string[], tell: (labels: Labels, n: number) => void, labels: Labels = {}): void {
    const [name, ...rest] = names;
    if (name === undefined) {
      tell(labels, this.n);
      return;
    }
    for (const [label, tally] of this.below) tally.each(rest, tell, { ...labels, [name]: label });
  }
}

export function tallied(name: string, help: string, labelNames: readonly string[], registers: Registry[]): Tally {
  const tally = new Tally();
  const counter = new Counter({
    ...{ name, help, labelNames, registers },
    collect: () => {
      counter.reset();
      tally.each(labelNames, (labels, n) => counter.inc(labels, n));
    },
  });
  return tally;
}

interface Cell {
  /** By bucket, each without those below it. */
  readonly counts: number[];
  sum: number;
  count: number;
}

/** Seconds in buckets, by two labels. */
export class Times {
  private readonly bounds: readonly number[];
  private readonly byFirst = new Map<string, Map<string, Cell>>();

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
  }

  observe(first: string, second: string, seconds: number): void {
    const cell = this.cellOf(first, second);
    cell.sum += seconds;
    cell.count += 1;
    for (let i = 0; i < this.bounds.length; i++) {
      if (seconds > this.bounds[i]!) continue;
      cell.counts[i]! += 1;
      return;
    }
  }

  private cellOf(first: string, second: string): Cell {
    let row = this.byFirst.get(first);
    if (row === undefined) {
      row = new Map();
      this.byFirst.set(first, row);
    }
    let cell = row.get(second);
    if (cell === undefined) {
      cell = { counts: this.bounds.map(() => 0), sum: 0, count: 0 };
      row.set(second, cell);
    }
    return cell;
  }

  values(name: string, labelNames: readonly [string, string]): MetricValue<string>[] {
    const values: (MetricValue<string> & { readonly metricName: string })[] = [];
    for (const [first, row] of this.byFirst) {
      for (const [second, { counts, sum, count }] of row) {
        const labels = { [labelNames[0]]: first, [labelNames[1]]: second };
        let reached = 0;
        for (const [i, bound] of this.bounds.entries()) {
          reached += counts[i]!;
          values.push({ metricName: `${name}_bucket`, labels: { le: bound, ...labels }, value: reached });
        }
        values.push({ metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: count });
        values.push({ metricName: `${name}_sum`, labels, value: sum });
        values.push({ metricName: `${name}_count`, labels, value: count });
      }
    }
    return values;
  }
}

/** A histogram that prom-client shows and does not keep. */
export function timed(
  name: string,
  help: string,
  labelNames: readonly [string, string],
  bounds: readonly number[],
  registers: readonly Registry[],
): Times {
  const times = new Times(bounds);
  const shown = {
    name,
    get: async () => ({ name, help, type: 'histogram', aggregator: 'sum', values: times.values(name, labelNames) }),
    reset: () => {},
  };
  for (const registry of registers) {
    registry.registerMetric(shown as unknown as Parameters<Registry['registerMetric']>[0]);
  }
  return times;
}
