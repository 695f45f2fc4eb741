// The shapes of the conformance fixture, free of any SDK: one definition of each tool, prompt and resource is served by
// SDK v1 (legacy) and SDK v2 (dual, modern), so that the eras cannot drift apart. Knows nothing of wires.

export interface Question {
  readonly method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  readonly params: Readonly<Record<string, unknown>>;
}

export type Json = Readonly<Record<string, unknown>>;

/** What a definition may do while it runs; each SDK's adapter makes one. */
export interface Call {
  readonly args: Json;
  /** What this caller declared: at `initialize` (legacy) or in this request (modern). */
  readonly declared: Json;
  /** Undefined when the caller gave no token; then `progress` does nothing. */
  readonly progressToken: string | number | undefined;
  progress(value: number, total: number): Promise<void>;
  log(level: 'debug' | 'info', text: string): Promise<void>;
  /** Asks all at once. A modern adapter ends the round here and runs the definition again with the answers. */
  ask(questions: Readonly<Record<string, Question>>): Promise<Readonly<Record<string, Json>>>;
  changed(list: 'tools' | 'prompts'): Promise<void>;
  /** Drops the caller's stream where the wire has one to drop (2025-11-25 polling); elsewhere nothing. */
  dropStream(): void;
}

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Json;
  /** Send a state string with every question, not only from the second round on. */
  readonly stateful?: true;
  run(call: Call): Promise<Json>;
}

export interface PromptDefinition {
  readonly name: string;
  readonly description: string;
  readonly arguments?: readonly { readonly name: string; readonly description: string; readonly required: boolean }[];
  get(call: Call): Promise<Json>;
}

export interface ResourceDefinition {
  readonly uri: string;
  readonly name: string;
  readonly description: string;
  readonly mimeType: string;
  readonly contents: Json;
}

export const NO_ARGUMENTS: Json = { type: 'object', properties: {}, additionalProperties: false };

/** A red pixel and an empty WAV: the suite looks at kind and base64, not at the picture. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
export const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

export function text(value: string): Json {
  return { content: [{ type: 'text', text: value }] };
}

export function elicit(message: string, properties: Json, required: readonly string[] = []): Question {
  return {
    method: 'elicitation/create',
    params: { mode: 'form', message, requestedSchema: { type: 'object', properties, required } },
  };
}

export function sample(prompt: string): Question {
  return {
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 },
  };
}

export const ROOTS: Question = { method: 'roots/list', params: {} };
