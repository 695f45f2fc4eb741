// Listens in on a published client: a `fetch` that passes everything on and holds each message that Lockkeeper sent against
// what is legal for the era and side. Peers repair much in silence; this is where it shows.

import { PassThrough } from 'node:stream';
import { within } from './eventually.ts';
import { type SseEvent, sseEvents } from './raw-sse.ts';
import { legacyFaults, modernFaults, type Spoken } from './wire-rules.ts';

export interface WireLog {
  readonly fetch: typeof fetch;
  /** One sentence a breach, in order. */
  readonly faults: readonly string[];
  /** Messages seen from Lockkeeper, to prove that somebody was listening. */
  readonly seen: number;
  /** Messages of the client, in order. */
  readonly sent: readonly Message[];
  /** Messages of Lockkeeper, in order. */
  readonly heard: readonly Message[];
  /** When the client has closed: everything that flowed by was looked at. */
  idle(): Promise<void>;
}

export type Message = Readonly<Record<string, unknown>>;

/** The same bytes, and a copy of them; cancelling reaches the source, and the copy ends either way. */
function copied(source: ReadableStream<Uint8Array>, copies: PassThrough): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          copies.end();
          controller.close();
          return;
        }
        copies.write(value);
        controller.enqueue(value);
      } catch (error) {
        copies.end();
        controller.error(error);
      }
    },
    async cancel(reason) {
      copies.end();
      await reader.cancel(reason);
    },
  });
}

function parsed(text: string): readonly Message[] {
  if (text === '') return [];
  const value = JSON.parse(text) as Message | readonly Message[];
  return Array.isArray(value) ? value : [value as Message];
}

/** `through` chooses where a request goes; default: where it says. */
export function createWireLog(era: 'modern' | 'legacy', through: typeof fetch = fetch): WireLog {
  const faults: string[] = [];
  const sent: Message[] = [];
  const heard: Message[] = [];
  const open: Promise<void>[] = [];
  let seen = 0;
  const judge = era === 'modern' ? modernFaults : legacyFaults;
  const look = (spoken: Spoken) => {
    seen += 1;
    heard.push(spoken.message);
    faults.push(...judge(spoken));
  };

  /** Copies what flows by; a clone would not do, since its other half must be cancelled, too. */
  const tap = (response: Response, asked: readonly Message[]): Response => {
    const headers = Object.fromEntries(response.headers);
    const copies = new PassThrough();
    const hear = (event: SseEvent) => {
      // The endpoint event of HTTP+SSE is a path, no message.
      if (!event.data || event.event === 'endpoint') return;
      for (const message of parsed(event.data)) look({ message, asked, headers, event });
    };
    const listen = async () => {
      for await (const event of sseEvents(copies)) hear(event);
    };
    open.push(
      listen().catch((error: Error) => {
        faults.push(`unreadable: ${error.message}`);
      }),
    );
    return new Response(copied(response.body!, copies), response);
  };

  const tapped: typeof fetch = async (input, init) => {
    const asked = typeof init?.body === 'string' ? parsed(init.body) : [];
    sent.push(...asked);
    const response = await through(input, init);
    const type = response.headers.get('content-type') ?? '';
    const url = String(input instanceof Request ? input.url : input);
    if (url.includes('/.well-known/') || !response.body) return response;
    if (type.startsWith('text/event-stream')) return tap(response, asked);
    if (!type.startsWith('application/json')) return response;
    const text = await response.text();
    const headers = Object.fromEntries(response.headers);
    for (const message of parsed(text)) look({ message, asked, headers, event: null });
    return new Response(text, response);
  };
  return {
    fetch: tapped,
    faults,
    sent,
    heard,
    idle: async () => {
      await within(Promise.all(open), 5_000, 'streams of a closed client');
    },
    get seen() {
      return seen;
    },
  };
}
