// Reads one request body, bounded (protocol.md §2.1 #4–#7): whether it is of a kind we take is judged from headers,
// before a byte is read. What the bytes mean is era/classify.ts.

import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Reason } from '../errors.ts';
import type { Accepts } from './accept.ts';

export type Body =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'refusal'; readonly reason: Reason; readonly bytesRead: number }
  /** The client went away in the middle: there is nobody to answer. */
  | { readonly kind: 'gone' };

const JSON_TYPE = 'application/json';
const JOINED_BYTES = 64 * 1024;

/** What the head alone tells of the body and of the answer wanted, in the ladder's order. */
export function refuseHead(request: IncomingMessage, maxBytes: number, accepts: Accepts): Reason | null {
  const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = request.headers;
  // #4: parameters of the media type are allowed and ignored.
  if (type !== JSON_TYPE && type?.split(';', 1)[0]?.trim().toLowerCase() !== JSON_TYPE) return 'media-type';
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return 'content-encoding';
  if (length !== undefined && Number(length) > maxBytes) return 'too-large';
  return accepts.json || accepts.sse ? null : 'not-acceptable';
}

/** What it will take at most: as announced, else as much as is allowed. */
export function bodyBytes(request: IncomingMessage, maxBytes: number): number {
  const length = request.headers['content-length'];
  return length === undefined ? maxBytes : Number(length);
}

export function readBody(request: IncomingMessage, maxBytes: number): Promise<Body> {
  return new Promise((resolve) => {
    // A large one is put together as it comes, so that it is not there twice at its end.
    const announced = Number(request.headers['content-length'] ?? 0);
    let whole = announced > JOINED_BYTES && announced <= maxBytes ? Buffer.allocUnsafeSlow(announced) : null;
    let chunks: Buffer[] = [];
    let size = 0;
    // Null once it is settled. Cheaper than taking the listeners off; but an idle connection keeps its last request, and
    // with it them: they must keep neither the body nor the promise that has it.
    let told: ((body: Body) => void) | null = resolve;
    const settle = (body: Body) => {
      const tell = told;
      told = null;
      whole = null;
      chunks = [];
      tell?.(body);
    };
    const onData = (chunk: Buffer) => {
      if (told === null) return;
      if (whole !== null) {
        // Node's parser ends the body at the length that was announced.
        whole.set(chunk, size);
        size += chunk.length;
        return;
      }
      size += chunk.length;
      if (size <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      request.pause();
      settle({ kind: 'refusal', reason: 'too-large', bytesRead: size });
    };
    const onEnd = () => {
      if (told !== null) settle(judgeText(whole ?? (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))));
    };
    const onGone = () => settle({ kind: 'gone' });
    request.on('data', onData).on('end', onEnd).on('close', onGone).on('error', onGone);
  });
}

/** RFC 8259 wants UTF-8 without a byte order mark; a server that gets one may die of it (GB-033). */
function judgeText(bytes: Buffer): Body {
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  if (marked || !isUtf8(bytes)) return { kind: 'refusal', reason: 'parse', bytesRead: bytes.length };
  return { kind: 'bytes', bytes };
}
