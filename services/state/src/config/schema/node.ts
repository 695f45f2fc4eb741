// The part of JSON Schema (draft 7) that our configuration uses. Every node has a description, since the reference page
// is made from it; every default of the configuration is written in these files and nowhere else.

export interface SchemaNode {
  readonly $schema?: string;
  readonly $id?: string;
  readonly title?: string;
  readonly description: string;
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'boolean';
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: false | SchemaNode;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly pattern?: string;
  readonly propertyNames?: { readonly pattern: string };
  readonly oneOf?: readonly { readonly required: readonly string[] }[];
  /** What to do when `pattern` or `oneOf` is not met. Editors that know the keyword show it too. */
  readonly errorMessage?: string;
}

type Rest = Omit<Partial<SchemaNode>, 'type' | 'description'>;

export function text(description: string, rest: Rest = {}): SchemaNode {
  return { description, type: 'string', minLength: 1, maxLength: 4096, ...rest };
}

export function choice(description: string, values: readonly string[], rest: Rest = {}): SchemaNode {
  return { description, type: 'string', enum: values, ...rest };
}

export function flag(description: string, fallback: boolean): SchemaNode {
  return { description, type: 'boolean', default: fallback };
}

export function count(description: string, minimum: number, maximum: number, fallback?: number): SchemaNode {
  return { description, type: 'integer', minimum, maximum, ...(fallback === undefined ? {} : { default: fallback }) };
}

export function list(description: string, items: SchemaNode, rest: Rest = {}): SchemaNode {
  return { description, type: 'array', items, maxItems: 10_000, ...rest };
}

/** A map with known keys only. */
export function group(
  description: string,
  properties: Readonly<Record<string, SchemaNode>>,
  rest: Rest = {},
): SchemaNode {
  return { description, type: 'object', properties, additionalProperties: false, ...rest };
}
