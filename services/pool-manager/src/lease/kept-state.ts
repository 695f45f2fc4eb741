// That a process kept the state of a session, noted in the store so that it outlives process and node: when another
// process is lent for the same session, its caller is told once that the state is gone, before anything runs (design §5,
// row `session`).

import { createHash } from 'node:crypto';
import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import { ownerKey, poolKey } from '@lockkeeper/protocol/link/keys';
import { LEGACY_METHODS, MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import type { Clock } from '@lockkeeper/state/clock';
import { keyOf, type Store } from '@lockkeeper/state/store';
import type { Connection, Log } from '../raise/contract.ts';

export interface KeptStateDeps {
  readonly store: Pick<Store, 'take' | 'set'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Longest life of a session (limits.sessionMaxMs). */
  readonly sessionMaxMs: () => number;
}

export interface StateCaller {
  readonly spec: ServerSpec;
  readonly head: Pick<Open, 'principal' | 'session' | 'method'>;
}

export interface KeptState {
  /** Before the first call of a session on a process. Rejects with `StateLostError`; null: there is nothing to wait for. */
  admit(caller: StateCaller, fingerprint: string, connection: Connection): Promise<void> | null;
}

/** Thrown to the first callers of a fresh process whose predecessor is gone. */
export class StateLostError extends Error {
  constructor(server: string) {
    super(
      `server "${server}" no longer has its state of this session: the process that kept it has ended. Nothing was run`,
    );
  }
}

interface Noted {
  /** Joined by calls that come while the store is asked: they were made in the same belief. */
  readonly admitted: Promise<void>;
  settled: boolean;
  at: number;
}

export function createKeptState({ store, clock, log, sessionMaxMs }: KeptStateDeps): KeptState {
  const noted = new WeakMap<Connection, Noted>();

  async function ask(key: string, server: string): Promise<void> {
    let former: string | null = null;
    try {
      former = await store.take(key);
      if (former === null) await store.set(key, '1', sessionMaxMs());
    } catch (error) {
      log.warn({ server, err: error }, 'whether a session had its state elsewhere could not be read');
    }
    if (former !== null) throw new StateLostError(server);
  }

  function begin(key: string, server: string, connection: Connection): Promise<void> {
    const asked = ask(key, server);
    const note: Noted = { admitted: asked, settled: false, at: clock.now() };
    noted.set(connection, note);
    asked.then(
      () => {
        note.settled = true;
      },
      // Who was told may call again.
      () => noted.delete(connection),
    );
    return asked;
  }

  /** A process may outlive its note where no session bounds its life. */
  function renew(note: Noted, key: string, server: string): void {
    if (clock.now() - note.at < sessionMaxMs() / 2) return;
    note.at = clock.now();
    store
      .set(key, '1', sessionMaxMs())
      .catch((error: unknown) => log.warn({ server, err: error }, 'session state note'));
  }

  return {
    admit(caller, fingerprint, connection) {
      const { spec, head } = caller;
      if (spec.isolation !== 'session' || isIndifferent(head.method)) return null;
      const key = noteKey(caller, fingerprint);
      const note = noted.get(connection);
      if (note === undefined) return begin(key, spec.name, connection);
      if (!note.settled) return note.admitted;
      renew(note, key, spec.name);
      return null;
    },
  };
}

/** The same whatever a session did before; gateways ask it on their own account too. */
function isIndifferent(method: string): boolean {
  const facts = MODERN_METHODS.get(method) ?? LEGACY_METHODS.get(method);
  return facts?.list === true || INDIFFERENT.has(method);
}

const INDIFFERENT: ReadonlySet<string> = new Set(['server/discover', 'ping', 'logging/setLevel']);

/** Without the digest: the state is as lost after a change of the configuration. */
function noteKey({ spec, head }: StateCaller, fingerprint: string): string {
  const { principal, session } = head;
  const owner = ownerKey({
    ...{ server: spec.name, digest: '', isolation: spec.isolation, principal, session, mayAsk: false },
  });
  const hash = createHash('sha256').update(poolKey(owner, fingerprint)).digest('base64url');
  return keyOf(spec.tenant, 'kept-state', hash);
}
