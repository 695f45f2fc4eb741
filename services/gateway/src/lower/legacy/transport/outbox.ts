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
import { createDebts, type Debts, decodeOut, encodeOut, type OutEntry } from './outbox-entry.ts';

export interface Outbox {
  /** Takes the lease and copies until released. */
  hold(session: Session, holder: Holder): Promise<HeldStream>;
  /** Whether this replica holds the socket. */
  here(session: Session): boolean;
  /** Whether some replica holds the socket. Rejects when the store does not answer. */
  held(session: Session): Promise<boolean>;
  send(session: Session, entry: OutEntry): Promise<void>;
}

export interface Holder {
  stream(): SseStream;
  /** The lease or the log is gone, the stream is of no use. */
  lost(): void;
  /** Another replica took a POST and owes an answer. */
  owing(): void;
}

export interface HeldStream {
  readonly debts: Pick<Debts, 'pending' | 'owed'>;
  release(): Promise<void>;
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

export function createOutbox(deps: OutboxDeps): Outbox {
  const { store } = deps;
  /** Sockets held here, by session id: their messages need no log. */
  const here = new Map<string, (entry: OutEntry) => void>();

  async function hold(session: Session, { stream, lost, owing }: Holder): Promise<HeldStream> {
    const { tenant } = session.record;
    const key = holderKey(tenant, session.id);
    const token = Buffer.from(deps.random(16)).toString('base64url');
    const debts = createDebts();
    let over = false;
    const lose = () => {
      if (over) return;
      over = true;
      lost();
    };
    const write = (entry: OutEntry) => {
      if (debts.passes(entry)) {
        const out = stream();
        out.send(entry.text, { name: 'message' });
        if (out.bufferedBytes > MAX_BACKLOG) lose();
      } else if (entry.kind === 'taken') owing();
    };
    const lease = await takeLease(deps, key, token, lose);
    here.set(session.id, write);
    const copy = ({ value }: { readonly value: string }) => {
      const entry = decodeOut(value);
      if (entry !== null) write(entry);
    };
    const following: Following = store.follow(outKey(tenant, session.id), '', copy, lose);
    return {
      debts,
      async release() {
        over = true;
        following.close();
        here.delete(session.id);
        await lease.release();
      },
    };
  }

  return {
    hold,
    here: (session) => here.has(session.id),
    async held(session) {
      if (here.has(session.id)) return true;
      return (await store.get(holderKey(session.record.tenant, session.id))) !== null;
    },
    async send(session, entry) {
      const write = here.get(session.id);
      if (write !== undefined) return write(entry);
      const key = outKey(session.record.tenant, session.id);
      await store.append(key, encodeOut(entry), LOG_ENTRIES, deps.ttlMs());
    },
  };
}
