// An answered form against the schema that was asked (26/elicit, design §4 amendment 8). The schemas are flat: one
// object of primitives. Nothing of a server's is compiled (T-51), so `pattern` is the server's own to check.

export type FormSchema = Readonly<Record<string, unknown>>;

/** Why the content does not fit; null when it does. The words name fields, never values. */
export function unfit(schema: FormSchema, content: unknown): string | null {
  if (!isObject(content)) return 'content is no object';
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  for (const name of required) {
    if (typeof name === 'string' && !Object.hasOwn(content, name)) return `"${name}" is missing`;
  }
  for (const [name, value] of Object.entries(content)) {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const why = isObject(own) ? misfit(own, value) : null;
    if (why !== null) return `"${name}" ${why}`;
  }
  return null;
}

function misfit(schema: FormSchema, value: unknown): string | null {
  switch (schema.type) {
    case 'string':
      return typeof value === 'string' ? textMisfit(schema, value) : 'is no string';
    case 'number':
    case 'integer':
      return typeof value === 'number' ? numberMisfit(schema, value) : 'is no number';
    case 'boolean':
      return typeof value === 'boolean' ? null : 'is neither true nor false';
    case 'array':
      return Array.isArray(value) ? choicesMisfit(schema, value) : 'is no list';
    default:
      return null;
  }
}

function textMisfit(schema: FormSchema, value: string): string | null {
  const choices = choicesOf(schema);
  if (choices !== null) return choices.has(value) ? null : 'is none of the choices';
  const length = [...value].length;
  if (typeof schema.minLength === 'number' && length < schema.minLength) return 'is too short';
  if (typeof schema.maxLength === 'number' && length > schema.maxLength) return 'is too long';
  return typeof schema.format === 'string' && !hasFormat(schema.format, value) ? `is no ${schema.format}` : null;
}

function numberMisfit(schema: FormSchema, value: number): string | null {
  if (schema.type === 'integer' && !Number.isInteger(value)) return 'is no integer';
  if (typeof schema.minimum === 'number' && value < schema.minimum) return 'is too small';
  if (typeof schema.maximum === 'number' && value > schema.maximum) return 'is too large';
  return null;
}

function choicesMisfit(schema: FormSchema, value: readonly unknown[]): string | null {
  if (typeof schema.minItems === 'number' && value.length < schema.minItems) return 'has too few entries';
  if (typeof schema.maxItems === 'number' && value.length > schema.maxItems) return 'has too many entries';
  const choices = isObject(schema.items) ? choicesOf(schema.items) : null;
  for (const entry of value) {
    if (typeof entry !== 'string') return 'has an entry that is no string';
    if (choices !== null && !choices.has(entry)) return 'has an entry that is none of the choices';
  }
  return null;
}

/** `enum`, or the constants of `oneOf` and `anyOf`; null: anything. */
function choicesOf(schema: FormSchema): ReadonlySet<unknown> | null {
  if (Array.isArray(schema.enum)) return new Set(schema.enum);
  const titled = Array.isArray(schema.oneOf) ? schema.oneOf : schema.anyOf;
  if (!Array.isArray(titled) || !titled.every((entry) => isObject(entry) && 'const' in entry)) return null;
  return new Set(titled.map((entry) => (entry as { const: unknown }).const));
}

function hasFormat(format: string, value: string): boolean {
  switch (format) {
    case 'email':
      return /^[^\s@]+@[^\s@]+$/.test(value);
    case 'uri':
      return URL.canParse(value);
    case 'date':
      return /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value));
    case 'date-time':
      return /^\d{4}-\d{2}-\d{2}[Tt ]/.test(value) && !Number.isNaN(Date.parse(value));
    default:
      return true;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
