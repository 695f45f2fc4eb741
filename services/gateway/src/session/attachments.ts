// What lives with a session on this replica: open streams, calls in flight. Each is told once when the session ends,
// by hint at once or by the keeper's next round; while something is attached, the keeper puts the idle end off.

import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { Hints } from './hints.ts';
import type { Session } from './record.ts';
import type { Sessions } from './sessions.ts';

export interface Attachments {
  /** Returns the way to let go. `ended` is called at most once, and never after letting go. */
  attach(session: Session, ended: () => void): () => void;
  /** Tells everything attached to this session here. */
  end(tenant: string, id: string): void;
  start(): void;
  close(): void;
}

export interface AttachmentsDeps {
  readonly sessions: Sessions;
  readonly hints: Hints;
  readonly clock: Clock;
  readonly failed: (what: string, error: unknown) => void;
}

interface Held {
  readonly session: Session;
  readonly listeners: Set<() => void>;
}

export function createAttachments(deps: AttachmentsDeps): Attachments {
  const held = new Map<string, Held>();
  let timer: Timer | null = null;
  const keyFor = (tenant: string, id: string) => `${tenant}/${id}`;

  function end(tenant: string, id: string): void {
    const key = keyFor(tenant, id);
    const found = held.get(key);
    if (found === undefined) return;
    held.delete(key);
    for (const listener of found.listeners) listener();
  }

  async function keep(): Promise<void> {
    for (const { session } of [...held.values()]) {
      // Unreadable is no end: the store may come back.
      if ((await deps.sessions.renew(session)) === 'unknown') end(session.record.tenant, session.id);
    }
  }

  function again(): void {
    timer = deps.clock.setTimer(deps.sessions.renewEveryMs(), () => {
      keep()
        .catch((error: unknown) => deps.failed('session keeper', error))
        .finally(() => {
          if (timer !== null) again();
        });
    });
    timer.unref?.();
  }

  deps.hints.on((hint) => {
    if (hint.kind === 'ended') end(hint.tenant, hint.id);
  });

  return {
    attach(session, ended) {
      const key = keyFor(session.record.tenant, session.id);
      const entry = held.get(key) ?? { session, listeners: new Set() };
      held.set(key, entry);
      entry.listeners.add(ended);
      return () => {
        entry.listeners.delete(ended);
        if (entry.listeners.size === 0 && held.get(key) === entry) held.delete(key);
      };
    },
    end,
    start() {
      if (timer === null) again();
    },
    close() {
      timer?.clear();
      timer = null;
    },
  };
}
