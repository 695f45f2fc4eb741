// A legacy server that asks, scripted, and the caller's side of its questions.

import type { Open } from '@lockkeeper/protocol/link/frames';
import type { Answered, Opened, Stage } from '../dispatch/stage.ts';
import { type FakeChild, legacyServer, ok, type Script, type Sent } from '../raise/fake.ts';

export const FORM = { elicitation: { form: {} } };
export const ALL = { roots: {}, sampling: { tools: {}, context: {} }, elicitation: { form: {}, url: {} } };

export const SCHEMA = { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] };

export interface Ask {
  readonly id: string | number;
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

export function elicit(id: string | number, message = 'Which color?', more: Record<string, unknown> = {}): Ask {
  return { id, method: 'elicitation/create', params: { message, requestedSchema: SCHEMA, ...more } };
}

export function sample(id: string | number, more: Record<string, unknown> = {}): Ask {
  const messages = [{ role: 'user', content: { type: 'text', text: 'hi' } }];
  return { id, method: 'sampling/createMessage', params: { messages, maxTokens: 10, ...more } };
}

export function write(child: FakeChild, ask: Ask): void {
  child.write({ jsonrpc: '2.0', ...ask });
}

/** Asks these in each `tools/call`, and answers the call with all that it was told when every answer is there. */
export function asking(...asks: readonly Ask[]): Script {
  let call: Sent | null = null;
  let told: Record<string, unknown> = {};
  return legacyServer((message, child) => {
    if (message.method === 'tools/call') {
      call = message;
      told = {};
      for (const ask of asks) write(child, ask);
      return true;
    }
    if (message.method !== undefined || message.id === undefined) return false;
    const asked = asks.some((ask) => ask.id === message.id);
    if (!asked) return false;
    told[String(message.id)] = message.error ?? message.result;
    if (call !== null && Object.keys(told).length === asks.length) ok(child, call, { content: [], told });
    return true;
  });
}

export interface Shown {
  readonly state: string;
  readonly keys: string[];
  readonly requests: Record<string, { method: string; params?: Record<string, unknown> }>;
}

export function shown(answered: Answered): Shown {
  if (answered.result?.resultType !== 'input_required') throw new Error(`no question: ${JSON.stringify(answered)}`);
  const requests = answered.value?.inputRequests as Shown['requests'];
  return { state: answered.result.state!, keys: Object.keys(requests), requests };
}

/** The caller comes back with answers; without them when `answers` is null. */
export function retry(
  s: Stage,
  first: Pick<Opened, 'head'>,
  state: string,
  answers: Record<string, unknown> | null,
  more: Partial<Open> = {},
): Opened {
  const { kind: _kind, stream: _stream, ...head } = first.head;
  const body = answers === null ? '' : `"inputResponses":${JSON.stringify(answers)}`;
  return s.open(head.method, { ...head, state, ...more }, body);
}

export const GREEN = { action: 'accept', content: { color: 'green' } };
