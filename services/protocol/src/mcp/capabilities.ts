// Capability objects (protocol.md §1.9): the shapes we read. Unknown members are kept by whoever carries the raw
// text; these types name only what a decision rests on. `covers`, `fingerprint` and `cutToRevision` live in
// mcp/fingerprint.ts.

export interface ClientCapabilities {
  readonly roots?: { readonly listChanged?: boolean };
  readonly sampling?: { readonly tools?: object; readonly context?: object };
  readonly elicitation?: { readonly form?: object; readonly url?: object };
  readonly tasks?: object;
  readonly extensions?: Readonly<Record<string, object>>;
  readonly experimental?: object;
}

export interface ServerCapabilities {
  readonly tools?: { readonly listChanged?: boolean };
  readonly prompts?: { readonly listChanged?: boolean };
  readonly resources?: { readonly subscribe?: boolean; readonly listChanged?: boolean };
  readonly completions?: object;
  readonly logging?: object;
  readonly tasks?: {
    readonly list?: object;
    readonly cancel?: object;
    readonly requests?: { readonly tools?: { readonly call?: object } };
  };
  readonly extensions?: Readonly<Record<string, object>>;
  readonly experimental?: object;
}

export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly [extra: string]: unknown;
}
