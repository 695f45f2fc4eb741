// How the driver's client answers a form: with its defaults, and yes where it has none. Works on either SDK's client.

import type { Client as ModernClient } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

export type Json = Readonly<Record<string, unknown>>;

export interface Questions {
  /** Done before a question is answered. */
  unrelated: (() => Promise<unknown>) | null;
  readonly asked: Json[];
}

export function answering(client: LegacyClient | ModernClient, questions: Questions): void {
  const answer = async (request: { params?: unknown }) => {
    const params = (request.params ?? {}) as Json;
    questions.asked.push(params);
    await questions.unrelated?.();
    const { properties } = params.requestedSchema as { properties: Readonly<Record<string, { default?: unknown }>> };
    const content = Object.entries(properties).map(([name, schema]) => [name, schema.default ?? true]);
    return { action: 'accept', content: Object.fromEntries(content) } as never;
  };
  if (client instanceof LegacyClient) client.setRequestHandler(ElicitRequestSchema, answer);
  else client.setRequestHandler('elicitation/create', answer);
}
