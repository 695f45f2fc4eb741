// Bytes made, written and copied. Node's own buffers, where there are any, come out of a pool and know short ways for
// texts: a tenth of the price of memory of one's own. What comes from here is for the moment; to keep it, copy it.

interface Pooled extends Uint8Array {
  toString(encoding?: 'utf8', start?: number, end?: number): string;
  write(text: string, at: number): number;
}

interface Pool {
  new (bytes: number): Pooled;
  from(text: string): Pooled;
  allocUnsafe(bytes: number): Pooled;
  byteLength(text: string): number;
}

const pool = (globalThis as { readonly Buffer?: Pool }).Buffer;
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Text as UTF-8. */
export function encoded(text: string): Uint8Array {
  return pool === undefined ? encoder.encode(text) : pool.from(text);
}

export function byteLength(text: string): number {
  return pool === undefined ? encoder.encode(text).length : pool.byteLength(text);
}

/** Room for so many bytes, each of which must be written: it is not empty. */
export function room(bytes: number): Uint8Array {
  return pool === undefined ? new Uint8Array(bytes) : pool.allocUnsafe(bytes);
}

/** Writes text at a place of `room`; returns how many bytes it took. */
export function put(out: Uint8Array, at: number, text: string): number {
  if (pool !== undefined && out instanceof pool) return out.write(text, at);
  return encoder.encodeInto(text, out.subarray(at)).written;
}

/** The text of so many bytes as they stand. */
export function textAt(bytes: Uint8Array, start: number, end: number): string {
  if (pool !== undefined && bytes instanceof pool) return bytes.toString('utf8', start, end);
  return decoder.decode(bytes.subarray(start, end));
}

/** Memory of its own, to be kept. (`slice` of one of Node's buffers is a view.) */
export function copyOf(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
