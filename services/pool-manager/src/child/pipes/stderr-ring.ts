// The last words of a child (auth-security I-14, GB-021): always taken, never answered, kept in a ring of fixed size, and
// shown to operators only, redacted and without control characters.

import { escapeControls, type Redactor } from './redact.ts';

export const SHOWN_BYTES = 16 * 1024;
/** A secret cut by the ring's start is not recognised, so that much more is kept than shown. */
const MARGIN_BYTES = 4 * 1024;

export class StderrRing {
  private readonly redactor: Redactor;
  private readonly margin: number;
  private ring: Buffer | null = null;
  /** Bytes ever taken. */
  private taken = 0;

  constructor(redactor: Redactor) {
    this.redactor = redactor;
    this.margin = Math.max(MARGIN_BYTES, redactor.longest);
  }

  push(chunk: Uint8Array): void {
    this.ring ??= Buffer.alloc(SHOWN_BYTES + this.margin);
    const size = this.ring.length;
    const part = chunk.subarray(Math.max(0, chunk.length - size));
    const at = (this.taken + chunk.length - part.length) % size;
    const until = Math.min(part.length, size - at);
    this.ring.set(part.subarray(0, until), at);
    this.ring.set(part.subarray(until), 0);
    this.taken += chunk.length;
  }

  tail(): string {
    const text = this.redactor.redact(this.bytes().toString('utf8'));
    const whole = this.ring === null || this.taken <= this.ring.length;
    return escapeControls((whole ? text : text.slice(this.margin)).slice(-SHOWN_BYTES));
  }

  private bytes(): Buffer {
    if (this.ring === null) return Buffer.alloc(0);
    const size = this.ring.length;
    if (this.taken <= size) return this.ring.subarray(0, this.taken);
    const at = this.taken % size;
    return Buffer.concat([this.ring.subarray(at), this.ring.subarray(0, at)]);
  }
}
