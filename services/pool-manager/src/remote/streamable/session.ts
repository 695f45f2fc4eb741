// What a legacy session must show on each of its requests (protocol.md §4.4): its id, if the server gave one (GB-012), and
// the revision that was negotiated, never a client's (GB-046).

import { findMember, stringOf } from '@lockkeeper/protocol/json/scan';
import { HEADER } from '@lockkeeper/protocol/mcp/headers';
import type { RemoteResponse } from '../contract.ts';
import type { Said } from '../incoming.ts';
import { ACCEPT_BOTH } from '../modern/request-headers.ts';

/** 2511/http: visible ASCII; the length is ours. */
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/;

export class Session {
  id: string | null = null;
  private revision: string | null = null;

  /** From the reply to `initialize`. False: an id that no header can carry. */
  opened({ headers }: Pick<RemoteResponse, 'headers'>): boolean {
    const id = headers.get(HEADER.session);
    if (id === undefined) return true;
    if (!SESSION_ID.test(id)) return false;
    this.id = id;
    return true;
  }

  negotiated({ line, found }: Said): void {
    this.revision = stringOf(line, findMember(found.result, 'protocolVersion')) ?? null;
  }

  postHeaders(): Record<string, string> {
    return { 'content-type': 'application/json', accept: ACCEPT_BOTH, ...this.own() };
  }

  /** `after`: where a stream is to go on. */
  getHeaders(after: string | null): Record<string, string> {
    const resume = after === null ? {} : { [HEADER.lastEventId]: after };
    return { accept: 'text/event-stream', ...this.own(), ...resume };
  }

  own(): Record<string, string> {
    return {
      ...(this.id === null ? {} : { [HEADER.session]: this.id }),
      ...(this.revision === null ? {} : { [HEADER.version]: this.revision }),
    };
  }
}
