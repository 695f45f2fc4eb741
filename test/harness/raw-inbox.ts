// What has arrived on a socket and was not read yet, with waits for a line, for so many bytes, or for the end.

import type { Socket } from 'node:net';

export interface Inbox {
  readonly connected: Promise<void>;
  line(): Promise<string>;
  bytes(count: number): Promise<Buffer>;
  rest(): AsyncGenerator<Buffer>;
}

export function inboxOf(socket: Socket): Inbox {
  let held: Buffer = Buffer.alloc(0);
  let ended: Error | 'end' | null = null;
  let wake: (() => void) | null = null;
  const stir = () => {
    wake?.();
    wake = null;
  };
  socket.on('data', (chunk) => {
    held = Buffer.concat([held, chunk]);
    stir();
  });
  socket.on('error', (error) => {
    ended ??= error;
    stir();
  });
  socket.on('close', () => {
    ended ??= 'end';
    stir();
  });
  const more = async (): Promise<boolean> => {
    if (ended) return false;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
    return true;
  };
  const take = (count: number): Buffer => {
    const taken = held.subarray(0, count);
    held = held.subarray(count);
    return taken;
  };
  const missing = (what: string) => new Error(`connection ended before ${what}`, { cause: ended });
  return {
    connected: new Promise((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    }),
    async line() {
      for (;;) {
        const at = held.indexOf('\r\n');
        if (at >= 0)
          return take(at + 2)
            .subarray(0, at)
            .toString('latin1');
        if (!(await more())) throw missing('a line');
      }
    },
    async bytes(count) {
      while (held.length < count) if (!(await more()) && held.length < count) throw missing(`${count} bytes`);
      return take(count);
    },
    async *rest() {
      do {
        if (held.length > 0) yield take(held.length);
      } while (await more());
      if (held.length > 0) yield take(held.length);
    },
  };
}
