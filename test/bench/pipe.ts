// The floor below every gateway: the same child over its pipe, with no HTTP and nobody in between.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LoadResult, LoadWish } from './wishes.ts';

const NEWLINE = 10;

export interface Pipe {
  readonly pid: number;
  measure(wish: Pick<LoadWish, 'payload' | 'concurrency' | 'durationMs' | 'atLeast'>): Promise<LoadResult>;
  close(): void;
}

export function openPipe(): Pipe {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./echo-child.ts', import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let onAnswer: (id: number) => void = () => {};
  let fresh = true;
  let head = '';
  // Ids are at the beginning of an answer; only that much of each line is looked at.
  child.stdout.on('data', (chunk: Buffer) => {
    let from = 0;
    while (from < chunk.length) {
      if (fresh || head.length < 48) head = (fresh ? '' : head) + chunk.toString('latin1', from, from + 48);
      fresh = false;
      const end = chunk.indexOf(NEWLINE, from);
      if (end < 0) return;
      onAnswer(Number(/"id":(\d+)/.exec(head)?.[1]));
      fresh = true;
      from = end + 1;
    }
  });
  return {
    pid: child.pid!,
    measure: (wish) =>
      measure(
        wish,
        (bytes) => child.stdin.write(bytes),
        (handler) => {
          onAnswer = handler;
        },
      ),
    close: () => child.stdin.end(),
  };
}

function measure(
  wish: Parameters<Pipe['measure']>[0],
  write: (bytes: Buffer) => void,
  listen: (handler: (id: number) => void) => void,
): Promise<LoadResult> {
  const text = 'x'.repeat(wish.payload);
  const params = { name: 'echo', arguments: { text } };
  const requests = Array.from({ length: wish.concurrency }, (_, index) =>
    Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id: index, method: 'tools/call', params })}\n`),
  );
  const sentAt = new Float64Array(wish.concurrency);
  const done = new Uint32Array(wish.concurrency);
  const latencies: number[] = [];
  const startedAt = performance.now();
  let open = wish.concurrency;
  return new Promise((resolve) => {
    const send = (id: number) => {
      sentAt[id] = performance.now();
      write(requests[id]!);
    };
    listen((id) => {
      const now = performance.now();
      latencies.push(now - sentAt[id]!);
      done[id]! += 1;
      if (now - startedAt < wish.durationMs || done[id]! < wish.atLeast) return send(id);
      open -= 1;
      if (open > 0) return;
      const sorted = latencies.sort((a, b) => a - b);
      const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!;
      resolve({
        calls: sorted.length,
        perSecond: (sorted.length * 1000) / (now - startedAt),
        p50: at(0.5),
        p99: at(0.99),
      });
    });
    for (let id = 0; id < wish.concurrency; id += 1) send(id);
  });
}
