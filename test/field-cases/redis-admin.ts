// A few commands to the Redis of a test, on a bare socket: what an operator would type. Knows lines, numbers and lists, and
// only words without blanks.

import { connect } from 'node:net';
import { type Inbox, inboxOf } from '../harness/raw-inbox.ts';

export interface RedisAdmin {
  run(...words: readonly string[]): Promise<unknown>;
  close(): void;
}

async function answer(inbox: Inbox): Promise<unknown> {
  const line = await inbox.line();
  const rest = line.slice(1);
  switch (line[0]) {
    case '+':
      return rest;
    case ':':
      return Number(rest);
    case '$': {
      const bytes = await inbox.bytes(Number(rest) + 2);
      return bytes.subarray(0, -2).toString();
    }
    case '*': {
      const items: unknown[] = [];
      for (let left = Number(rest); left > 0; left--) items.push(await answer(inbox));
      return items;
    }
    default:
      throw new Error(line);
  }
}

export async function redisAdmin(url: string): Promise<RedisAdmin> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port || 6379), hostname);
  const inbox = inboxOf(socket);
  await inbox.connected;
  return {
    run(...words) {
      socket.write(`${words.join(' ')}\r\n`);
      return answer(inbox);
    },
    close: () => socket.destroy(),
  };
}
