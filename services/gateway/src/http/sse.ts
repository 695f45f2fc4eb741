// One SSE response (protocol.md §2.4): events out, comments when silent, and an end. A client that takes nothing of what
// was written for a beat or two is let go; what waits for it would grow without bound (auth-security.md T-47).

import type { ServerResponse } from 'node:http';
import type { Body, SseStream } from './contract.ts';
import type { Beating } from './wheel.ts';

const JOIN_BYTES = 16 * 1024;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const DATA = Buffer.from('data: ');
const END = Buffer.from('\n\n');
const COMMENT = ':\n\n';

export function createSse(response: ServerResponse, beatMs: number): SseStream & Beating {
  return new Sse(response, beatMs);
}

class Sse implements SseStream, Beating {
  private readonly response: ServerResponse;
  private readonly beatMs: number;
  private quiet = true;
  private suspect: 'never' | 'now' | 'cleared' = 'never';

  constructor(response: ServerResponse, beatMs: number) {
    this.response = response;
    this.beatMs = beatMs;
  }

  get closed(): boolean {
    return this.response.writableEnded || this.response.destroyed;
  }

  get bufferedBytes(): number {
    return this.response.writableLength;
  }

  send(data: Body, fields?: { readonly id?: string; readonly name?: string; readonly retry?: number }): boolean {
    if (this.closed) return false;
    this.quiet = false;
    const prefix = fields === undefined ? DATA : Buffer.from(`${prefixOf(fields)}data: `);
    if (typeof data !== 'string' && !(data instanceof Uint8Array)) return this.write(prefix, data);
    const bytes = oneLine(typeof data === 'string' ? Buffer.from(data) : data);
    if (bytes.length <= JOIN_BYTES) return this.response.write(Buffer.concat([prefix, bytes, END]));
    return this.write(prefix, [bytes]);
  }

  private write(prefix: Uint8Array, pieces: readonly Uint8Array[]): boolean {
    this.response.cork();
    this.response.write(prefix);
    for (const piece of pieces) if (piece.length > 0) this.response.write(oneLine(piece));
    const flowing = this.response.write(END);
    this.response.uncork();
    return flowing;
  }

  comment(): void {
    if (!this.closed) this.response.write(COMMENT);
  }

  end(): void {
    if (!this.closed) this.response.end();
  }

  beat(): boolean {
    const { response } = this;
    if (response.destroyed || response.writableFinished) return false;
    if (response.writableLength > 0) {
      this.doubt();
      return true;
    }
    this.trust();
    if (this.quiet) this.comment();
    this.quiet = true;
    return true;
  }

  /**
   * Megabytes are one write, of which Node tells no part; but its own timer of a socket sees them go, and fires only when
   * none did. So a client that reads slowly has its time.
   */
  private doubt(): void {
    if (this.suspect === 'now') return;
    const { response } = this;
    if (this.suspect === 'never') {
      response.on('timeout', () => {
        if (response.writableLength > 0) response.destroy();
      });
    }
    this.suspect = 'now';
    response.setTimeout(this.beatMs);
  }

  private trust(): void {
    if (this.suspect !== 'now') return;
    this.suspect = 'cleared';
    this.response.setTimeout(0);
  }
}

function prefixOf(fields: { readonly id?: string; readonly name?: string; readonly retry?: number }): string {
  let text = '';
  if (fields.name !== undefined) text += `event: ${fields.name}\n`;
  if (fields.id !== undefined) text += `id: ${fields.id}\n`;
  if (fields.retry !== undefined) text += `retry: ${fields.retry}\n`;
  return text;
}

/** Raw line breaks in valid JSON stand between tokens only; an SSE data field must not contain one. */
function oneLine(bytes: Uint8Array): Uint8Array {
  if (bytes.indexOf(LF) === -1 && bytes.indexOf(CR) === -1) return bytes;
  return bytes.map((b) => (b === LF || b === CR ? SPACE : b));
}
