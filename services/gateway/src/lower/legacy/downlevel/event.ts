// Progress and log events of a call as the notifications of a legacy client (protocol.md §5.3): progress under the
// client's own token, its type kept (GB-083), never without one (GB-084); logs at the session's level, none when it
// never set one (Part 7 #28). Pure.

import { concat, membersWithout, objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, membersOf, stringOf } from '@lockkeeper/protocol/json/scan';
import { isLogLevel, type LogLevel, passesLevel } from '@lockkeeper/protocol/mcp/meta';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';

export interface EventTerms {
  readonly revision: string;
  /** Raw text of the client's progress token; null: it gave none. */
  readonly token: string | null;
  readonly level: LogLevel | undefined;
}

/** The notification's text; null when this client must not see it. */
export function lowerEvent(terms: EventTerms, method: string, members: Uint8Array): Uint8Array | null {
  switch (method) {
    case 'notifications/progress':
      return terms.token === null ? null : progress(terms.token, terms.revision, members);
    case 'notifications/message':
      return terms.level === undefined ? null : log(terms.level, members);
    default:
      return null; // nothing else belongs to a call's own stream
  }
}

function progress(token: string, revision: string, members: Uint8Array): Uint8Array {
  const params = atLeast(revision, '2025-03-26') ? members : withoutMessage(members);
  return concat([
    '{"jsonrpc":"2.0","method":"notifications/progress","params":',
    objectOf([`"progressToken":${token}`, params]),
    '}',
  ]);
}

/** `message` came with 2025-03-26 (protocol.md §1.6). */
function withoutMessage(members: Uint8Array): Uint8Array {
  const whole = objectOf([members]);
  return membersWithout(whole, membersOf(whole, { start: 0, end: whole.length }), (key) => key === 'message');
}

function log(wanted: LogLevel, members: Uint8Array): Uint8Array | null {
  const whole = objectOf([members]);
  const level = stringOf(whole, findMember(membersOf(whole, { start: 0, end: whole.length }), 'level'));
  if (!isLogLevel(level) || !passesLevel(level, wanted)) return null;
  return concat(['{"jsonrpc":"2.0","method":"notifications/message","params":', whole, '}']);
}
