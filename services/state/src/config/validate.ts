// The data against the schema: fills defaults in and turns what the validator says into sentences. Sentences name keys
// and rules, never the value that broke one.

import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { dotted, type Path, type Report } from './faults.ts';
import type { SchemaNode } from './schema/node.ts';
import { CONFIG_SCHEMA } from './schema/root.ts';

let compiled: ValidateFunction | null = null;

function validator(): ValidateFunction {
  if (compiled !== null) return compiled;
  const ajv = new Ajv({ allErrors: true, useDefaults: true, verbose: true, strict: true, strictRequired: false });
  ajv.addKeyword('errorMessage');
  compiled = ajv.compile(CONFIG_SCHEMA);
  return compiled;
}

/** Changes `data`: afterwards every default stands in it. */
export function validateAgainstSchema(data: unknown, report: Report): void {
  const validate = validator();
  if (validate(data)) return;
  for (const error of (validate.errors ?? []).filter((e) => !isEcho(e))) tell(error, report);
}

function tell(error: ErrorObject, report: Report): void {
  const path = stepsOf(error);
  if (error.propertyName !== undefined) {
    report([...path, error.propertyName], `this name is not possible here: ${adviceOf(error)}`, 'key');
  } else if (error.keyword === 'additionalProperties') {
    const key = String(error.params.additionalProperty);
    report([...path, key], unknownKey(key, nodeOf(error)), 'key');
  } else if (error.keyword === 'required') {
    const key = String(error.params.missingProperty);
    const what = nodeOf(error).properties?.[key]?.description ?? '';
    report(path, `${path.length === 0 ? '' : `${dotted(path)}.`}${key} is missing: add it. ${what}`.trimEnd(), 'key');
  } else {
    report(path, `${path.length === 0 ? 'the file' : dotted(path)} ${wordsOf(error)}`);
  }
}

/** Said by another error of the same place, in better words. */
function isEcho({ schemaPath, keyword }: ErrorObject): boolean {
  return schemaPath.includes('/oneOf/') || keyword === 'propertyNames';
}

/** Of the object that the keyword stands in. */
function nodeOf(error: ErrorObject): SchemaNode {
  return error.parentSchema as unknown as SchemaNode;
}

function adviceOf(error: ErrorObject): string {
  if (error.propertyName !== undefined) return 'use letters, digits and underscores, the first no digit';
  return nodeOf(error).errorMessage ?? 'see the reference page for what is possible';
}

function wordsOf(error: ErrorObject): string {
  const { limit } = error.params as { limit?: number };
  switch (error.keyword) {
    case 'type':
      return typeWords(String(error.params.type), error.data);
    case 'enum':
      return `must be one of ${(error.params.allowedValues as string[]).join(', ')}`;
    case 'minimum':
      return `must be ${limit} or more`;
    case 'maximum':
      return `must be ${limit} or less`;
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have ${limit} characters or more`;
    case 'maxLength':
      return `must have ${limit} characters or fewer`;
    case 'minItems':
      return `must have ${limit === 1 ? 'an entry' : `${limit} entries`} at least`;
    case 'maxItems':
      return `must have ${limit} entries at most`;
    case 'uniqueItems':
      return `holds the same entry twice (${Number(error.params.i) + 1} and ${Number(error.params.j) + 1}): keep one`;
    case 'oneOf':
      return `has too many or too few of its keys: ${adviceOf(error)}`;
    default:
      return `is not possible: ${adviceOf(error)}`;
  }
}

const KINDS: Readonly<Record<string, string>> = {
  object: 'a map',
  array: 'a list',
  string: 'text',
  integer: 'a whole number',
  boolean: 'true or false',
};

function typeWords(wanted: string, data: unknown): string {
  const must = `must be ${KINDS[wanted] ?? wanted}`;
  if (data === null) return `${must} and is empty: give it a value, or take the key out`;
  if (wanted === 'string' && typeof data !== 'object') return `${must}: put quotes around it`;
  if (wanted === 'array') return `${must}: put [ ] around it, or a dash before each entry`;
  if (typeof data === 'string' && (wanted === 'integer' || wanted === 'boolean')) return `${must}, without quotes`;
  return must;
}

function unknownKey(key: string, node: SchemaNode): string {
  const known = Object.keys(node.properties ?? {});
  const near = known.filter((k) => distance(k.toLowerCase(), key.toLowerCase()) <= 2);
  const hint = near.length > 0 ? `did you mean ${near.join(' or ')}?` : `known here: ${known.join(', ')}`;
  return `unknown key ${JSON.stringify(key)}: ${hint}`;
}

/** Edits between two short words. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Ajv's pointer as steps: indices of lists become numbers, so that they find their place. */
function stepsOf(error: ErrorObject): Path {
  const parts = error.instancePath.split('/').slice(1);
  return parts.map((part) => {
    const step = part.replaceAll('~1', '/').replaceAll('~0', '~');
    return /^\d+$/.test(step) ? Number(step) : step;
  });
}
