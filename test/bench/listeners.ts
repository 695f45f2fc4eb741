// Clients that listen and say nothing, a process of its own: so many sockets, each with one `subscriptions/listen`, held
// until the parent leaves. Over IPC: `ListenWish` in, the number that were acknowledged out.

import { connect, type Socket } from 'node:net';

export interface ListenWish {
  readonly url: string;
  readonly count: number;
  /** Used in turn: a person may open so many only. */
  readonly tokens: readonly string[];
}

const AT_ONCE = 64;
const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';
const META = 'io.modelcontextprotocol/';
const held: Socket[] = [];

function requestFor(url: URL, token: string, id: number): string {
  const meta = {
    [`${META}protocolVersion`]: '2026-07-28',
    [`${META}clientCapabilities`]: {},
    [`${META}clientInfo`]: { name: 'bench', version: '1' },
  };
  const params = { notifications: { toolsListChanged: true }, _meta: meta };
  const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params });
  return [
    `POST ${url.pathname} HTTP/1.1`,
    `host: ${url.host}`,
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    `authorization: Bearer ${token}`,
    'mcp-protocol-version: 2026-07-28',
    'mcp-method: subscriptions/listen',
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

function listen(url: URL, token: string, id: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname);
    held.push(socket);
    let seen = '';
    socket.once('connect', () => socket.write(requestFor(url, token, id)));
    socket.on('data', (chunk) => {
      if (seen.includes(ACKNOWLEDGED)) return;
      seen += chunk.toString('latin1');
      if (seen.includes(ACKNOWLEDGED)) resolve();
      else if (!seen.startsWith('HTTP/1.1 200')) reject(new Error(seen.slice(0, 600)));
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`a listen ended: ${seen.slice(0, 600)}`)));
  });
}

async function openAll({ url, count, tokens }: ListenWish): Promise<number> {
  const target = new URL(url);
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const id = next;
      next += 1;
      await listen(target, tokens[id % tokens.length]!, id + 1);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, count) }, lane));
  return count;
}

process.on('message', (wish: ListenWish) => {
  openAll(wish).then(
    (opened) => process.send?.({ opened }),
    (error: Error) => process.send?.({ failed: error.message }),
  );
});
process.on('disconnect', () => process.exit(0));
