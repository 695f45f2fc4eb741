// A configuration that is not yet known to be valid, for the checks: typed look-ups that give nothing where the shape
// is wrong, since the schema has said so already and every other fault is to be found in the same run.

import type { Path, Report } from './faults.ts';

export interface Item {
  readonly path: Path;
  /** Defaults filled in. */
  readonly value: Readonly<Record<string, unknown>>;
}

export interface Draft {
  readonly root: Item;
  /** Whether the file itself has something there; defaults do not count. */
  written(path: Path): boolean;
  /** The text there as the file has it, in quotes: `"${env:X}"`, never what it stands for. */
  shown(path: Path): string;
  /** Whether the value there is wanted: a file that nobody reads need not be here. */
  reads(path: Path, text: string): boolean;
  /** Relative paths of the file, made absolute. */
  absolute(path: string): string;
}

export function itemAt({ path, value }: Item, key: string): Item | undefined {
  const inner = value[key];
  return isMap(inner) ? { path: [...path, key], value: inner } : undefined;
}

export function itemsAt({ path, value }: Item, key: string): Item[] {
  const inner = value[key];
  if (!Array.isArray(inner)) return [];
  return inner.flatMap((entry: unknown, i) => (isMap(entry) ? [{ path: [...path, key, i], value: entry }] : []));
}

export function textAt({ value }: Item, key: string): string | undefined {
  const inner = value[key];
  return typeof inner === 'string' ? inner : undefined;
}

export function numberAt({ value }: Item, key: string): number | undefined {
  const inner = value[key];
  return typeof inner === 'number' ? inner : undefined;
}

/** Texts of a list, each with its path. */
export function textsAt({ path, value }: Item, key: string): { readonly path: Path; readonly text: string }[] {
  const inner = value[key];
  if (!Array.isArray(inner)) return [];
  return inner.flatMap((text: unknown, i) => (typeof text === 'string' ? [{ path: [...path, key, i], text }] : []));
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export type Check = (draft: Draft, report: Report) => void;
