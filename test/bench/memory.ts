// What a service really holds: asked over its inspector after a full collection, so that garbage is not taken for
// memory a thing needs. For services started with `INSPECTED`; nobody is attached while times are taken.

import { once } from 'node:events';
import { eventually, within } from '../harness/eventually.ts';
import type { Running } from '../harness/process.ts';

/** A free port each. */
export const INSPECTED = '--inspect=127.0.0.1:0';

export interface Held {
  readonly rss: number;
  /** V8's heap and the buffers outside of it. */
  readonly heap: number;
}

const EXPRESSION = 'JSON.stringify(process.memoryUsage())';
const DEADLINE_MS = 20_000;

function inspectorOf(running: Running): string | undefined {
  return /Debugger listening on (ws:\S+)/.exec(running.logs())?.[1];
}

async function ask(socket: WebSocket, id: number, method: string, params: Record<string, unknown> = {}) {
  socket.send(JSON.stringify({ id, method, params }));
  for (;;) {
    const [event] = (await within(once(socket, 'message'), DEADLINE_MS, method)) as [{ readonly data: string }];
    const message = JSON.parse(event.data) as { id?: number; result?: { result?: { value?: string } } };
    if (message.id === id) return message.result?.result?.value;
  }
}

export async function heldBy(running: Running): Promise<Held> {
  await eventually(() => inspectorOf(running) !== undefined, { deadlineMs: DEADLINE_MS });
  const socket = new WebSocket(inspectorOf(running)!);
  try {
    await within(once(socket, 'open'), DEADLINE_MS, 'the inspector');
    // The second takes what finalizers of the first let go.
    await ask(socket, 1, 'HeapProfiler.collectGarbage');
    await ask(socket, 2, 'HeapProfiler.collectGarbage');
    const usage = JSON.parse((await ask(socket, 3, 'Runtime.evaluate', { expression: EXPRESSION })) ?? '{}') as {
      readonly rss: number;
      readonly heapUsed: number;
      readonly external: number;
    };
    return { rss: usage.rss, heap: usage.heapUsed + usage.external };
  } finally {
    socket.close();
  }
}
