// The reference page, made from the schema: every key once, with its type, bounds, default and sentence. Pure text.

import type { SchemaNode } from './schema/node.ts';
import { CONFIG_SCHEMA } from './schema/root.ts';

const HEAD = `# Configuration reference

<!-- Made from the schema by \`npm run config:docs\`. Change services/state/src/config/schema, not this page. -->
`;
const TAIL = `
## What is refused

Beside unknown keys, wrong types and values out of bounds: names that stand nowhere, names and paths that stand twice,
\`auth.mode: open\` beyond loopback, and pairs that cannot both be meant. All faults are told at once, each as
\`file:line:column\` with what to do. A reload with a fault changes nothing.

Examples: [lockkeeper.yaml](examples/lockkeeper.yaml), [demo.yaml](examples/demo.yaml). Editors that know YAML schemas take
[config.schema.json](config.schema.json).
`;

export function schemaFile(): string {
  return `${JSON.stringify(CONFIG_SCHEMA, null, 2)}\n`;
}

export function referencePage(): string {
  const sections = Object.entries(CONFIG_SCHEMA.properties ?? {}).map(([key, node]) => section(key, node));
  return `${HEAD}\n${CONFIG_SCHEMA.description}\n\n${sections.join('\n')}${TAIL}`;
}

function section(key: string, node: SchemaNode): string {
  const required = CONFIG_SCHEMA.required?.includes(key) ?? false;
  // The node's own sentence stands above its table.
  const rows = rowsOf(key, { ...node, description: '' }, required);
  const table = ['| key | type | default | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
  return `## ${key}\n\n${node.description}\n\n${table}\n`;
}

/** The node itself and everything below it. Lists show as `key[]`, maps with free keys as `key.*`. */
function rowsOf(path: string, node: SchemaNode, required: boolean): string[] {
  const own = `| \`${path}\` | ${typeOf(node)} | ${fallbackOf(node, required)} | ${meaningOf(node)} |`;
  return [own, ...below(path, node)];
}

function below(path: string, node: SchemaNode): string[] {
  const { properties, items, additionalProperties: free } = node;
  if (properties !== undefined) {
    return Object.entries(properties).flatMap(([key, inner]) =>
      rowsOf(`${path}.${key}`, inner, node.required?.includes(key) ?? false),
    );
  }
  if (items !== undefined) return items.properties === undefined ? [] : below(`${path}[]`, items);
  return free === undefined || free === false ? [] : rowsOf(`${path}.*`, free, false);
}

function typeOf(node: SchemaNode): string {
  if (node.enum !== undefined) return node.enum.map((value) => `\`${value}\``).join(', ');
  if (node.type === 'array')
    return node.items?.properties === undefined ? `list of ${typeOf(node.items!)}` : 'list of maps';
  const bounds = node.minimum === undefined ? '' : ` ${node.minimum}…${node.maximum}`;
  const kinds = { object: 'map', string: 'text', integer: 'number', boolean: '`true`, `false`' } as const;
  return `${kinds[node.type ?? 'object']}${bounds}`;
}

function fallbackOf(node: SchemaNode, required: boolean): string {
  if (required) return '**required**';
  if (node.default === undefined || node.type === 'object') return '';
  return `\`${JSON.stringify(node.default)}\``;
}

function meaningOf(node: SchemaNode): string {
  const example = node.examples?.[0];
  const shown =
    example === undefined ? '' : ` Example: \`${typeof example === 'string' ? example : JSON.stringify(example)}\`.`;
  const inner =
    node.items !== undefined && node.items.properties === undefined ? ` Each: ${node.items.description}` : '';
  const rule = node.errorMessage === undefined ? '' : ` Rule: ${node.errorMessage}.`;
  return `${node.description}${inner}${rule}${shown}`.trim().replaceAll('|', '\\|');
}
