// Server-sent events out of body chunks, comments included, so that keep-alives and ids can be asserted.

export interface SseEvent {
  readonly event?: string;
  readonly id?: string;
  readonly retry?: string;
  /** Absent on a block that held only comments or fields without data. */
  readonly data?: string;
  readonly comment?: string;
}

function parseBlock(block: string): SseEvent {
  const fields: Record<string, string> = {};
  for (const line of block.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    const name = colon === 0 ? 'comment' : colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    fields[name] = name in fields ? `${fields[name]}\n${value}` : value;
  }
  return fields as SseEvent;
}

export async function* sseEvents(body: AsyncIterable<Buffer>): AsyncGenerator<SseEvent> {
  const decoder = new TextDecoder();
  let held = '';
  for await (const chunk of body) {
    held += decoder.decode(chunk, { stream: true });
    for (;;) {
      const end = /\r\n\r\n|\n\n|\r\r/.exec(held);
      if (!end) break;
      const block = held.slice(0, end.index);
      held = held.slice(end.index + end[0].length);
      if (block !== '') yield parseBlock(block);
    }
  }
}

/** The data of each event that has some, as JSON. */
export async function* messagesIn(events: AsyncIterable<SseEvent>): AsyncGenerator<Record<string, unknown>> {
  for await (const { data } of events) if (data) yield JSON.parse(data) as Record<string, unknown>;
}
