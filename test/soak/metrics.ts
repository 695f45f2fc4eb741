// Reads the operator's port of a service as an operator would.

import type { Service } from './stage.ts';

export async function readMetrics({ admin }: Service): Promise<string> {
  return (await fetch(`${admin}/metrics`)).text();
}

/** The sum (or what `put` makes) of all lines of a metric whose labels contain `label`. */
export function number(
  metrics: string,
  name: string,
  label = '',
  put: (a: number, b: number) => number = (a, b) => a + b,
): number {
  let value = 0;
  for (const line of metrics.split('\n')) {
    if (!line.startsWith(name) || !/^[{ ]/.test(line.slice(name.length)) || !line.includes(label)) continue;
    value = put(value, Number(line.slice(line.lastIndexOf(' ') + 1)));
  }
  return value;
}
