// HTTP+SSE across replicas (protocol.md §3.7 "Cross-replica"): whoever executes a POST appends its messages to the
// session's log, the one replica that holds the socket copies the log out. A lease says that someone holds it; without
// one a POST is told 404 at once rather than written into the void (GB-014).

import type { Clock } from '@lockkeeper/state/clock';
import type { Following, Store } from '@lockkeeper/state/store';
import type { SseStream } from '../../../http/contract.ts';
import type { Random } from '../../../session/id.ts';
import { holderKey, outKey } from '../../../session/keys.ts';
import { takeLease } from '../../../session/lease.ts';
import type { Session } from '../../../session/record.ts';

export interface Outbox {
  /** Takes the lease and copies until released. `lost`: the lease or the log is gone, the stream is of no use. */
  hold(session: Session, stream: () => SseStream, lost: () => void): Promise<() => Promise<void>>;
  /** Whether some replica holds the socket. Rejects when the store does not answer. */
  held(session: Session): Promise<boolean>;
  send(session: Session, message: Uint8Array): Promise<void>;
}

export interface OutboxDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly ttlMs: () => number;
  readonly failed: (what: string, error: unknown) => void;
}

const LOG_ENTRIES = 1000;
/** A reader this far behind is cut (GB-140). */
const MAX_BACKLOG = 16 * 1024 * 1024;

const decoder = new TextDecoder();

export function createOutbox(deps: OutboxDeps): Outbox {
  const { store } = deps;
  /** Sockets held here, by session id: their messages need no log. */
  const here = new Map<string, (message: Uint8Array | string) => void>();

  async function hold(session: Session, stream: () => SseStream, lost: () => void): Promise<() => Promise<void>> {
    const { tenant } = session.record;
    const key = holderKey(tenant, session.id);
    const token = Buffer.from(deps.random(16)).toString('base64url');
    let over = false;
    const lose = () => {
      if (over) return;
      over = true;
      lost();
    };
    const write = (message: Uint8Array | string) => {
      const out = stream();
      out.send(message, { name: 'message' });
      if (out.bufferedBytes > MAX_BACKLOG) lose();
    };
    const lease = await takeLease(deps, key, token, lose);
    here.set(session.id, write);
    const following: Following = store.follow(outKey(tenant, session.id), '', (e) => write(e.value), lose);
    return async () => {
      over = true;
      following.close();
      here.delete(session.id);
      await lease.release();
    };
  }

  return {
    hold,
    async held(session) {
      if (here.has(session.id)) return true;
      return (await store.get(holderKey(session.record.tenant, session.id))) !== null;
    },
    async send(session, message) {
      const write = here.get(session.id);
      if (write !== undefined) return write(message);
      const key = outKey(session.record.tenant, session.id);
      await store.append(key, decoder.decode(message), LOG_ENTRIES, deps.ttlMs());
    },
  };
}
