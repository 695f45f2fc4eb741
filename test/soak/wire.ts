// One person's side of a connection, on a bare socket. Everything that is received, status line to last event, is looked
// through for the words of others before anybody reads it.

import { within } from '../harness/eventually.ts';
import { openRaw, type RawRequest, requestBytes } from '../harness/raw.ts';
import { type Person, SECRET } from './people.ts';

export type Message = Readonly<Record<string, unknown>>;

/** Somebody was sent what is another's: the worst there is. */
export class Crossed extends Error {}

/** Neither an answer nor a cause. */
export class Unanswered extends Error {}

export interface Reply {
  readonly status: number;
  readonly session: string | null;
  /** Of `id`; null where none was asked for, or where we left. */
  readonly message: Message | null;
  readonly before: number;
  readonly left: boolean;
}

export interface Manners {
  /** The id whose answer ends it; absent: the end of the response does. */
  readonly id?: string | number;
  /** Sees all that comes before the answer. */
  readonly hear?: (message: Message) => Promise<void> | void;
  /** Goes away when this settles. */
  readonly leaves?: Promise<unknown>;
  /** An end without an answer is what was wanted (a cancel). */
  readonly mayEndEarly?: boolean;
  /** Reads nothing for so long. */
  readonly restsMs?: number;
}

/** Longer than any limit of the stage: whoever has nothing by then will never have it. */
const DEADLINE_MS = 40_000;

export async function send(person: Person, url: string, request: RawRequest, manners: Manners = {}): Promise<Reply> {
  let left = false;
  const connection = await openRaw(url);
  const leave = (): void => {
    left = true;
    connection.destroy();
  };
  void manners.leaves?.then(leave, leave);
  if (manners.restsMs !== undefined) {
    connection.socket.pause();
    setTimeout(() => connection.socket.resume(), manners.restsMs);
  }
  connection.write(requestBytes(url, request));
  try {
    return await within(receive(), DEADLINE_MS, 'answer');
  } catch (error) {
    if (left) return { status: 0, session: null, message: null, before: 0, left };
    if (error instanceof Crossed) throw error;
    throw new Unanswered(`${(error as Error).message}`, { cause: error });
  } finally {
    connection.destroy();
  }

  async function receive(): Promise<Reply> {
    const response = await connection.response();
    const { status, headers } = response;
    for (const line of headers) look(person, line.join(': '));
    const session = headers.get('mcp-session-id') ?? null;
    let before = 0;
    const done = (message: Message | null): Reply => ({ status, session, message, before, left });
    if (headers.get('content-type')?.startsWith('text/event-stream') !== true) {
      const text = await response.text();
      look(person, text);
      return done(text === '' ? null : (JSON.parse(text) as Message));
    }
    for await (const event of response.events()) {
      for (const part of Object.values(event)) look(person, part as string);
      if (!event.data) continue;
      const message = JSON.parse(event.data) as Message;
      if (message.id === manners.id && message.method === undefined) return done(message);
      before += 1;
      await manners.hear?.(message);
    }
    if (manners.mayEndEarly === true) left = true;
    if (manners.id !== undefined && !left) throw new Error('the stream ended without the answer');
    return done(null);
  }
}

function look(person: Person, text: string): void {
  for (const [found, name] of text.matchAll(SECRET)) {
    if (name === person.name) continue;
    const at = text.indexOf(found);
    throw new Crossed(`${person.name} was sent a word of ${name}: …${text.slice(Math.max(0, at - 200), at + 200)}…`);
  }
}
