// What a client hears of one stream, event by event, with the ids it would resume by.

import { within } from '../../../../../test/harness/eventually.ts';
import type { SseEvent } from '../../../../../test/harness/raw-sse.ts';
import { reader } from './client.ts';

export interface Rpc {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: { readonly content: readonly { readonly text: string }[]; readonly isError?: boolean };
}

/** What a client has of one stream: every event with its id, and the last id. */
export function follow(response: Response) {
  const source = reader(response);
  const ids: string[] = [];
  const next = async (): Promise<SseEvent | null> => {
    const event = await within(source.next(), 8000, 'an event');
    if (event?.id !== undefined) ids.push(event.id);
    return event;
  };
  return {
    ids,
    last: () => ids.at(-1) ?? '',
    async message(): Promise<Rpc> {
      for (;;) {
        const event = await next();
        if (event === null) throw new Error('the stream has ended');
        if (event.data) return JSON.parse(event.data) as Rpc;
      }
    },
    next,
    /** The messages up to the end of the stream. */
    async rest(): Promise<Rpc[]> {
      const all: Rpc[] = [];
      for (let event = await next(); event !== null; event = await next()) {
        if (event.data) all.push(JSON.parse(event.data) as Rpc);
      }
      return all;
    },
  };
}

/** Of each message what it says in short. */
export const steps = (messages: readonly Rpc[]): unknown[] =>
  messages.map((m) => m.params?.progress ?? m.method ?? m.result?.content[0]?.text);
