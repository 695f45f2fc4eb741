// The link protocol's number and its sizes. A peer with the same number or one apart is served (design §4 `hello`).

export const LINK_VERSION = 1;

export function compatible(other: number): boolean {
  return Number.isInteger(other) && Math.abs(other - LINK_VERSION) <= 1;
}

/** Most bytes one frame carries, header and length prefix included (design §11). */
export const MAX_FRAME_BYTES = 64 * 1024;
/** A message larger than this travels on the bulk lane. */
export const BULK_THRESHOLD_BYTES = 32 * 1024;
/**
 * Largest message, head and body together: as much as an operator may allow a body, a line and a result (`limits` in
 * settings), and the envelope. Of several at once only much shorter ones are sent.
 */
export const MAX_MESSAGE_BYTES = (1024 + 16) * 1024 * 1024;
/** Messages that take turns on a lane have no more together, unless there is only one. */
export const MAX_SENDING_BYTES = 16 * 1024 * 1024;
/** Heads are small; the exception is a modern upstream's own state. */
export const MAX_HEAD_BYTES = 8 * 1024 * 1024;
/** Before a peer has proved itself it may say this much at a time. */
export const MAX_HELLO_BYTES = 4 * 1024;

/** Bytes one stream may have on the way without being consumed. */
export const STREAM_WINDOW_BYTES = 256 * 1024;
/** The same for all streams of a connection pair together. */
export const CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
