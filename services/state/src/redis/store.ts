// The store on Redis 7+ or Valkey 8+ (design §6): native commands where one is atomic by itself, a small Lua script
// where it is not, streams for logs. Two connections: one for commands, one for what is subscribed.

import type { Clock } from '../clock.ts';
import { checkedPosition, checkedTtl } from '../errors.ts';
import type { LogEntry, Store } from '../store.ts';
import { createChannels } from './channels.ts';
import { type Connection, type ConnectionDeps, createConnection } from './connection.ts';
import { createFollowers, hintChannel } from './followers.ts';
import { ADD_TO_SET } from './scripts/add-to-set.ts';
import { APPEND_TO_LOG } from './scripts/append-to-log.ts';
import { COMPARE_AND_DELETE } from './scripts/compare-and-delete.ts';
import { COMPARE_AND_SET } from './scripts/compare-and-set.ts';
import { COMPARE_AND_TOUCH } from './scripts/compare-and-touch.ts';
import { runScript } from './scripts/script.ts';

export interface RedisStoreDeps {
  /** `redis://` or `rediss://`, with user and password if any; never logged. */
  readonly url: string;
  readonly clock: Clock;
  readonly warn: (words: string) => void;
  readonly connectTimeoutMs?: number;
  readonly commandTimeoutMs?: number;
  readonly followRoundMs?: number;
}

export function createRedisStore(deps: RedisStoreDeps): Store {
  const shared: Omit<ConnectionDeps, 'name'> = deps;
  const commands = createConnection({ ...shared, name: 'store' });
  const subscriptions = createConnection({ ...shared, name: 'channels' });
  const channels = createChannels(subscriptions, deps.warn);
  const logs = logOperations(commands);
  const followers = createFollowers({
    clock: deps.clock,
    channels,
    read: logs.read,
    ...(deps.followRoundMs === undefined ? {} : { roundMs: deps.followRoundMs }),
  });

  return {
    kind: 'redis',
    ...textOperations(commands),
    ...conditionalOperations(commands),
    ...setOperations(commands),
    ...logs,
    follow(key, after, deliver, failed) {
      return followers.follow(key, checkedPosition(after), deliver, failed);
    },
    async publish(channel, message) {
      await commands.run((client) => client.publish(channel, message));
    },
    async subscribe(channel, listener) {
      const wish = channels.want(channel, listener);
      try {
        await wish.taken;
      } catch (error) {
        await wish.leave();
        throw error;
      }
      return wish.leave;
    },
    reachable: () => commands.reachable() && subscriptions.reachable(),
    async close() {
      followers.close();
      await Promise.all([commands.close(), subscriptions.close()]);
    },
  };
}

type TextOperations = Pick<Store, 'get' | 'getMany' | 'set' | 'touch' | 'delete' | 'take' | 'scan'>;

function textOperations({ run }: Connection): TextOperations {
  return {
    get: (key) => run((client) => client.get(key)),
    // One read a key: they travel together anyway, and keys of several hash slots may be asked for.
    getMany: (keys) => Promise.all(keys.map((key) => run((client) => client.get(key)))),
    async set(key, value, ttlMs) {
      const ttl = checkedTtl(ttlMs);
      await run((client) => client.set(key, value, 'PX', ttl));
    },
    async touch(key, ttlMs) {
      const ttl = checkedTtl(ttlMs);
      return (await run((client) => client.pexpire(key, ttl))) === 1;
    },
    delete: async (key) => (await run((client) => client.del(key))) === 1,
    take: (key) => run((client) => client.getdel(key)),
    scan: (prefix) => run((client) => scanAll(client, prefix)),
  };
}

async function scanAll(client: Connection['client'], prefix: string): Promise<string[]> {
  const pattern = `${prefix.replace(/[\\*?[\]^]/g, '\\$&')}*`;
  const found = new Set<string>();
  let cursor = '0';
  do {
    const [next, keys] = await client.scan(cursor, 'MATCH', pattern, 'COUNT', 500);
    for (const key of keys) found.add(key);
    cursor = next;
  } while (cursor !== '0');
  return [...found];
}

type ConditionalOperations = Pick<Store, 'setIfAbsent' | 'compareAndSet' | 'compareAndTouch' | 'compareAndDelete'>;

function conditionalOperations({ run }: Connection): ConditionalOperations {
  return {
    async setIfAbsent(key, value, ttlMs) {
      const ttl = checkedTtl(ttlMs);
      return (await run((client) => client.set(key, value, 'PX', ttl, 'NX'))) === 'OK';
    },
    async compareAndSet(key, expected, value, ttlMs) {
      const ttl = checkedTtl(ttlMs);
      return (await run((client) => runScript(client, COMPARE_AND_SET, key, expected, value, ttl))) === 1;
    },
    async compareAndTouch(key, expected, ttlMs) {
      const ttl = checkedTtl(ttlMs);
      return (await run((client) => runScript(client, COMPARE_AND_TOUCH, key, expected, ttl))) === 1;
    },
    async compareAndDelete(key, expected) {
      return (await run((client) => runScript(client, COMPARE_AND_DELETE, key, expected))) === 1;
    },
  };
}

function setOperations({ run }: Connection): Pick<Store, 'addToSet' | 'removeFromSet' | 'membersOf'> {
  return {
    async addToSet(key, member, cap, ttlMs) {
      const ttl = checkedTtl(ttlMs);
      const result = await run((client) => runScript(client, ADD_TO_SET, key, member, cap, ttl));
      return result as 'added' | 'present' | 'full';
    },
    removeFromSet: async (key, member) => (await run((client) => client.srem(key, member))) === 1,
    membersOf: (key) => run((client) => client.smembers(key)),
  };
}

function logOperations({ run }: Connection): Pick<Store, 'append' | 'read'> {
  return {
    async append(key, value, maxLength, ttlMs) {
      const ttl = checkedTtl(ttlMs);
      const channel = hintChannel(key);
      return String(await run((client) => runScript(client, APPEND_TO_LOG, key, value, maxLength, ttl, channel)));
    },
    async read(key, after, limit): Promise<LogEntry[]> {
      const from = checkedPosition(after) === '' ? '-' : `(${after}`;
      if (limit <= 0) return [];
      const rows = await run((client) => client.xrange(key, from, '+', 'COUNT', limit));
      return rows.map(([position, fields]) => ({ position, value: fields[1] ?? '' }));
    },
  };
}
