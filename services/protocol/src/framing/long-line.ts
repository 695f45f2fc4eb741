// Whose answer was it? Looks for the request id in the ends of a line that was discarded for its length, so that one
// exchange fails and not its neighbours (GB-032). A guess by shape, used only to fail the waiter early: right for the
// two ways in which servers write answers (id before the result, id after it).

import type { LongLine } from './ndjson.ts';

const decoder = new TextDecoder('utf-8');
/** Before the first value that opens: only scalars, so what is found is a member of the message itself. */
const IN_HEAD = /^\s*\{(?:\s*"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|-?\d+|null)\s*,)*?\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*,/;
const IN_TAIL =
  /[}\]]\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?,\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/;

/** The id as its JSON text, or null. */
export function idOfLongLine(line: LongLine): string | null {
  return IN_HEAD.exec(decoder.decode(line.head))?.[1] ?? IN_TAIL.exec(decoder.decode(line.tail))?.[1] ?? null;
}

const KEPT_BYTES = 512;
/** The message's own members up to its result or error, so not a request of the server and no stray log line. */
const ANSWER = /^\s*\{(?:\s*"(?:jsonrpc|id)"\s*:\s*(?:"[^"\\]*"|-?\d+|null)\s*,)*\s*"(?:result|error)"\s*:/;

/** The same of a line that is no JSON, where it begins as an answer does. */
export function idOfBrokenLine(line: Uint8Array): string | null {
  const head = line.subarray(0, KEPT_BYTES);
  if (!ANSWER.test(decoder.decode(head))) return null;
  return idOfLongLine({ bytes: line.length, head, tail: line.subarray(-KEPT_BYTES) });
}
