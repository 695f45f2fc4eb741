// The streams of a Streamable HTTP session as the store keeps them (protocol.md §3.4): what each is, and what it has
// said. Whoever lowers a call appends; the one holder of the socket copies (hold.ts). Knows no socket and no MCP.

import type { LogEntry, Store } from '@lockkeeper/state/store';
import type { Belongings } from '../../../session/belongings.ts';
import { streamHolderKey, streamKey, streamLogKey } from '../../../session/keys.ts';
import type { Session } from '../../../session/record.ts';
import { type Entry, encodeEntry } from './entry.ts';

export interface StreamRecord {
  /** Exchange ids of the calls that are answered on it; none on a stream opened by GET. */
  readonly calls: readonly string[];
}

export interface Streams {
  begin(session: Session, stream: string, record: StreamRecord): Promise<void>;
  /** Null: never made, or over for too long. */
  find(session: Session, stream: string): Promise<StreamRecord | null>;
  append(session: Session, stream: string, entry: Entry): Promise<void>;
  /** All that is kept, oldest first. */
  read(session: Session, stream: string): Promise<LogEntry[]>;
  /** Everything has been said, or nobody listens; a client that did not get it all may still come for a moment. */
  finish(session: Session, stream: string): Promise<void>;
}

export interface StreamsDeps {
  readonly store: Store;
  readonly belongings: Belongings;
}

/** Long entries are fewer, so that one stream stays within some megabytes. */
const LONG = 16 * 1024;
const MAX_LONG = 64;
const MAX_ENTRIES = 512;

export function createStreams({ store, belongings }: StreamsDeps): Streams {
  const keyed = (make: typeof streamKey) => (session: Session, stream: string) =>
    make(session.record.tenant, session.id, stream);
  const [recordOf, logOf, holderOf] = [keyed(streamKey), keyed(streamLogKey), keyed(streamHolderKey)];

  return {
    async begin(session, stream, record) {
      await Promise.all([
        belongings.set(session, recordOf(session, stream), JSON.stringify(record)),
        belongings.list(session, logOf(session, stream)),
        belongings.list(session, holderOf(session, stream)),
      ]);
    },
    async find(session, stream) {
      const text = await store.get(recordOf(session, stream));
      return text === null ? null : (JSON.parse(text) as StreamRecord);
    },
    async append(session, stream, entry) {
      const value = encodeEntry(entry);
      await store.append(
        logOf(session, stream),
        value,
        value.length > LONG ? MAX_LONG : MAX_ENTRIES,
        belongings.lifeMs(),
      );
    },
    read: (session, stream) => store.read(logOf(session, stream), '', 2 * MAX_ENTRIES),
    finish: (session, stream) =>
      belongings.fade(
        session,
        [recordOf, logOf, holderOf].map((keyFor) => keyFor(session, stream)),
      ),
  };
}
