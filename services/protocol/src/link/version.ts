// The link protocol's number. A peer with the same number or one apart is served (design §4 `hello`).

export const LINK_VERSION = 1;

export function compatible(other: number): boolean {
  return Number.isInteger(other) && Math.abs(other - LINK_VERSION) <= 1;
}

/** Most bytes one frame carries, header and length prefix included (design §11). */
export const MAX_FRAME_BYTES = 64 * 1024;
/** A message larger than this travels on the bulk lane. */
export const BULK_THRESHOLD_BYTES = 32 * 1024;
