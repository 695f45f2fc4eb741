// The GET stream of a Streamable HTTP session (protocol.md §3.2, §3.3): kept open with comments until the session ends,
// the client leaves, or we drain. Several per session are accepted; each later message will go to one of them.
// PLACE for what will travel here: list_changed and updated (subscriptions.ts), and resumed streams (resume.ts).

import { HEADER } from '@lockkeeper/protocol/mcp/headers';
import type { Authenticated } from '../../../exchange.ts';
import type { Headers, HttpOut, SseStream } from '../../../http/contract.ts';
import type { Attachments } from '../../../session/attachments.ts';
import type { Random } from '../../../session/id.ts';
import { callerOf, checkVersion, type Gate } from '../gate.ts';
import { refuse } from '../refusal.ts';
import { prime } from './resume.ts';

export interface Standalone {
  open(ticket: Authenticated, headers: Headers, out: HttpOut): Promise<void>;
  close(): void;
}

export interface StandaloneDeps {
  readonly gate: Gate;
  readonly attachments: Attachments;
  readonly random: Random;
}

const MAX_PER_SESSION = 16;

export function createStandalone(deps: StandaloneDeps): Standalone {
  const bySession = new Map<string, Set<SseStream>>();

  function forget(id: string, stream: SseStream): void {
    const streams = bySession.get(id);
    streams?.delete(stream);
    if (streams?.size === 0) bySession.delete(id);
  }

  async function open(ticket: Authenticated, headers: Headers, out: HttpOut): Promise<void> {
    const { xid } = ticket;
    if (headers[HEADER.session] === undefined) {
      return out.empty(405, { allow: 'POST' });
    }
    const admitted = await deps.gate.session(ticket, headers);
    if (admitted.kind === 'refusal') return refuse(out, admitted.refusal, xid, undefined);
    if (admitted.kind === 'none') return refuse(out, { reason: 'session-missing' }, xid, undefined);
    if (!out.accepts.sse) return refuse(out, { reason: 'not-acceptable' }, xid, undefined);
    const { session } = admitted;
    const { revision } = callerOf(session);
    const wrong = checkVersion(headers, revision);
    if (wrong !== null) return refuse(out, wrong, xid, undefined);
    const streams = bySession.get(session.id) ?? new Set();
    if (streams.size >= MAX_PER_SESSION) return refuse(out, { reason: 'too-many' }, xid, undefined);
    bySession.set(session.id, streams);
    const stream = out.sse();
    streams.add(stream);
    const letGo = deps.attachments.attach(session, () => {
      forget(session.id, stream);
      stream.end();
    });
    out.onVanish(() => {
      letGo();
      forget(session.id, stream);
    });
    prime(stream, revision, Buffer.from(deps.random(6)).toString('base64url'));
  }

  return {
    open,
    close() {
      for (const streams of bySession.values()) for (const stream of streams) stream.end();
      bySession.clear();
    },
  };
}
