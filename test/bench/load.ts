// The client side of the bench, a process of its own: closed loop, so many keep-alive connections, each sends its prebuilt
// bytes again as soon as the answer is complete. Reads responses with the least work that still finds their end.
// Parent and child speak over IPC: `LoadWish` in, `LoadResult` out.

import { connect, type Socket } from 'node:net';
import { createResponseEnd } from './response-end.ts';
import type { LoadResult, LoadWish } from './wishes.ts';

interface Run {
  readonly wish: LoadWish;
  readonly latencies: number[];
  readonly endsAt: number;
  failed: string | null;
}

/** One a connection, made before any of them is opened: a server counts the time from there to the first byte. */
function requestsFor(wish: LoadWish): Buffer[][] {
  const text = 'x'.repeat(wish.payload);
  const params = JSON.stringify({ name: wish.tool, arguments: { text }, ...(wish.meta && { _meta: wish.meta }) });
  const { pathname, host } = new URL(wish.url);
  return Array.from({ length: wish.concurrency }, (_none, index) => {
    const headers = { ...wish.headers, ...wish.each?.[index % wish.each.length] };
    const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const body = Buffer.from(`{"jsonrpc":"2.0","id":${index + 1},"method":"tools/call","params":${params}}`);
    const head = `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-length: ${body.length}\r\n${fields.join('')}\r\n`;
    return [Buffer.from(head), body];
  });
}

/** Resolves when the time is over, this connection's minimum is reached and its last answer is in. */
function drive(run: Run, socket: Socket, request: readonly Buffer[]): Promise<void> {
  const { wish, latencies } = run;
  return new Promise((resolve, reject) => {
    let sentAt = 0;
    let done = 0;
    const send = () => {
      sentAt = performance.now();
      socket.cork();
      for (const part of request) socket.write(part);
      socket.uncork();
    };
    const fail = (why: string) => {
      run.failed ??= why;
      reject(new Error(why));
    };
    const end = createResponseEnd((status, bytes, head) => {
      if (status !== 200 || bytes < wish.payload) return fail(`status ${status}, ${bytes} bytes: ${head}`);
      latencies.push(performance.now() - sentAt);
      done += 1;
      if (run.failed || (performance.now() >= run.endsAt && done >= wish.atLeast)) return resolve();
      send();
    });
    socket.removeAllListeners('data');
    socket.removeAllListeners('close');
    socket.removeAllListeners('error');
    socket.on('data', end);
    socket.on('error', (error) => fail(error.message));
    socket.on('close', () => fail('connection closed'));
    send();
  });
}

async function connectAll(wish: LoadWish): Promise<Socket[]> {
  const { hostname, port } = new URL(wish.url);
  const opened = Array.from({ length: wish.concurrency }, async () => {
    const socket = connect(Number(port), hostname);
    socket.setNoDelay(true);
    await new Promise((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return socket;
  });
  return Promise.all(opened);
}

function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

async function perform(wish: LoadWish): Promise<LoadResult> {
  const requests = requestsFor(wish);
  const sockets = await connectAll(wish);
  const startedAt = performance.now();
  const run: Run = { wish, latencies: [], endsAt: startedAt + wish.durationMs, failed: null };
  try {
    await Promise.all(sockets.map((socket, index) => drive(run, socket, requests[index]!)));
    const elapsedMs = performance.now() - startedAt;
    const sorted = run.latencies.sort((a, b) => a - b);
    return {
      calls: sorted.length,
      perSecond: (sorted.length * 1000) / elapsedMs,
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
    };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

process.on('message', (wish: LoadWish) => {
  perform(wish).then(
    (result) => process.send?.(result),
    (error: Error) => process.send?.({ failed: error.message }),
  );
});
process.on('disconnect', () => process.exit(0));
