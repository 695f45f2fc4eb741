// Notifications of a legacy client (protocol.md §1.3, §3.5): always 202, whatever they are about; an unknown one is
// ignored. Those that mean something change the session or cancel a call on whichever replica it runs.

import { findMember, parseSpan } from '@lockkeeper/protocol/json/scan';
import { idKey, type RequestId } from '@lockkeeper/protocol/jsonrpc/message';
import type { Authenticated } from '../../exchange.ts';
import type { Located } from '../../http/contract.ts';
import type { InFlight } from '../../session/in-flight.ts';
import type { Session } from '../../session/record.ts';
import type { Sessions } from '../../session/sessions.ts';
import type { Watches } from './watch/contract.ts';

export interface NotifyDeps {
  readonly sessions: Sessions;
  readonly inFlight: InFlight;
  readonly watches?: Pick<Watches, 'seen'> | null;
  readonly failed: (what: string, error: unknown) => void;
}

export type Notify = (session: Session | null, message: Located, ticket: Authenticated) => Promise<void>;

export function createNotify(deps: NotifyDeps): Notify {
  return async function notify(session, message, ticket) {
    if (session === null) return; // nothing to change, nothing to cancel
    try {
      switch (message.method) {
        case 'notifications/initialized':
          if (!session.record.initialized) await deps.sessions.change(session, { initialized: true });
          deps.watches?.seen(session, ticket);
          return;
        case 'notifications/cancelled':
          await cancel(session, message);
          return;
        case 'notifications/roots/list_changed':
          return; // no server was told that changes are signalled (mcp/fingerprint.ts); its next question asks anew
        default:
          return;
      }
    } catch (error) {
      deps.failed('legacy notification', error);
    }
  };

  async function cancel(session: Session, message: Located): Promise<void> {
    const member = findMember(message.params, 'requestId');
    const id = member === undefined ? null : (parseSpan(message.bytes, member) as RequestId | null);
    if (typeof id === 'string' || typeof id === 'number') await deps.inFlight.cancel(session, idKey(id));
  }
}
