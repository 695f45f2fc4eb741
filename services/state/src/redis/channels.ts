// Pub/sub over one connection of its own. What is wanted is kept here and subscribed anew after each reconnect, then
// everyone is told, since hints sent meanwhile are lost (design §6 "pub/sub only as a hint").

import type { Redis } from 'ioredis';
import type { Connection } from './connection.ts';

export interface Wish {
  /** Resolves when Redis has taken the subscription; rejects while it is away (then it follows after reconnect). */
  readonly taken: Promise<void>;
  leave(): Promise<void>;
}

export interface RedisChannels {
  want(channel: string, listener: (message: string) => void): Wish;
  /** After a reconnect, when all wanted channels are subscribed again. */
  onResume(listener: () => void): void;
}

const CHUNK = 1000;

export function createChannels(connection: Connection, warn: (words: string) => void): RedisChannels {
  const wanted = new Map<string, Set<(message: string) => void>>();
  const resumed: (() => void)[] = [];

  function deliver(listener: (message: string) => void, message: string): void {
    try {
      listener(message);
    } catch (error) {
      warn(`a listener of a state channel failed: ${error instanceof Error ? error.message : 'unknown'}`);
    }
  }

  connection.client.on('message', (channel: string, message: string) => {
    for (const listener of [...(wanted.get(channel) ?? [])]) deliver(listener, message);
  });

  async function resubscribe(client: Redis): Promise<void> {
    const channels = [...wanted.keys()];
    for (let i = 0; i < channels.length; i += CHUNK) await client.subscribe(...channels.slice(i, i + CHUNK));
    for (const listener of resumed) listener();
  }
  connection.onReady((client) => {
    // A failure here is a lost connection, which brings the next `ready`.
    resubscribe(client).catch(() => undefined);
  });

  return {
    want(channel, listener) {
      // Wrapped, so that one function wanted twice is two wishes with two ends.
      const own = (message: string): void => listener(message);
      const set = wanted.get(channel) ?? new Set();
      wanted.set(channel, set.add(own));
      const taken = connection.run(async (client) => {
        await client.subscribe(channel);
      });
      return {
        taken,
        async leave() {
          set.delete(own);
          if (set.size > 0 || wanted.get(channel) !== set) return;
          wanted.delete(channel);
          // Away: nothing is subscribed there, and it will not be subscribed again.
          await connection.run((client) => client.unsubscribe(channel)).catch(() => undefined);
        },
      };
    },
    onResume: (listener) => {
      resumed.push(listener);
    },
  };
}
