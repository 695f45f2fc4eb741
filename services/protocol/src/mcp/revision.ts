// Eras and revisions (protocol.md §1.1). `revision` is the dated string; `version` is our own packages' word.

export type Era = 'legacy' | 'modern';

export const MODERN = '2026-07-28';
export const LEGACY_LATEST = '2025-11-25';

export type LegacyRevision = '2025-11-25' | '2025-06-18' | '2025-03-26' | '2024-11-05';
export type Revision = LegacyRevision | '2026-07-28';

/** Newest first, the order in which we list them (protocol.md Part 7 #6). */
export const LEGACY_REVISIONS: readonly LegacyRevision[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
export const MODERN_REVISIONS: readonly string[] = [MODERN];
export const REVISIONS: readonly Revision[] = [MODERN, ...LEGACY_REVISIONS];

export function isLegacyRevision(value: string): value is LegacyRevision {
  return (LEGACY_REVISIONS as readonly string[]).includes(value);
}

export function isModernRevision(value: string): boolean {
  return MODERN_REVISIONS.includes(value);
}

/** True when `a` is `b` or a later one. Dated strings order as text. */
export function atLeast(a: string, b: string): boolean {
  return a >= b;
}
