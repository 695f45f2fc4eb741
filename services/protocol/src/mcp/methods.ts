// The registries: which methods exist in which era, and what the walk must know of each (protocol.md §1.2).
// Absence is the refusal: nobody asks "which version" elsewhere.

import type { LegacyRevision } from './revision.ts';

export type Capability = 'tools' | 'prompts' | 'resources' | 'completions' | 'logging' | 'tasks';

export interface MethodFacts {
  /** Server capability it belongs to; undefined: always served. */
  readonly capability?: Capability;
  /** The param mirrored in Mcp-Name. */
  readonly nameKey?: 'name' | 'uri' | 'taskId';
  /** May be answered by input_required (protocol.md §2.8 #1). */
  readonly mrtr: boolean;
  /** Without side effects: may be sent again when a process is lost (design §2). */
  readonly safe: boolean;
  /** Its complete result carries ttlMs and cacheScope (protocol.md §1.5). */
  readonly cacheable: boolean;
  readonly list: boolean;
}

const plain = { mrtr: false, safe: true, cacheable: false, list: false } as const;
const list = { ...plain, cacheable: true, list: true } as const;

const BOTH: readonly (readonly [string, MethodFacts])[] = [
  ['tools/list', { ...list, capability: 'tools' }],
  ['tools/call', { ...plain, capability: 'tools', nameKey: 'name', mrtr: true, safe: false }],
  ['resources/list', { ...list, capability: 'resources' }],
  ['resources/templates/list', { ...list, capability: 'resources' }],
  ['resources/read', { ...plain, capability: 'resources', nameKey: 'uri', mrtr: true, cacheable: true }],
  ['prompts/list', { ...list, capability: 'prompts' }],
  ['prompts/get', { ...plain, capability: 'prompts', nameKey: 'name', mrtr: true }],
  ['completion/complete', { ...plain, capability: 'completions' }],
];

export const MODERN_METHODS: ReadonlyMap<string, MethodFacts> = new Map<string, MethodFacts>([
  ...BOTH,
  ['server/discover', { ...plain, cacheable: true }],
  ['subscriptions/listen', { ...plain }],
  ['tasks/get', { ...plain, capability: 'tasks', nameKey: 'taskId' }],
  ['tasks/update', { ...plain, capability: 'tasks', nameKey: 'taskId', safe: false }],
  ['tasks/cancel', { ...plain, capability: 'tasks', nameKey: 'taskId', safe: false }],
]);

export interface LegacyMethodFacts extends MethodFacts {
  readonly since: LegacyRevision;
}

const FIRST: LegacyRevision = '2024-11-05';

export const LEGACY_METHODS: ReadonlyMap<string, LegacyMethodFacts> = new Map<string, LegacyMethodFacts>([
  ...BOTH.map(([method, facts]) => [method, { ...facts, since: FIRST }] as const),
  ['initialize', { ...plain, since: FIRST }],
  ['ping', { ...plain, since: FIRST }],
  ['logging/setLevel', { ...plain, capability: 'logging', since: FIRST }],
  ['resources/subscribe', { ...plain, capability: 'resources', nameKey: 'uri', since: FIRST }],
  ['resources/unsubscribe', { ...plain, capability: 'resources', nameKey: 'uri', since: FIRST }],
  ['tasks/get', { ...plain, capability: 'tasks', nameKey: 'taskId', since: '2025-11-25' }],
  ['tasks/result', { ...plain, capability: 'tasks', nameKey: 'taskId', since: '2025-11-25' }],
  ['tasks/list', { ...plain, capability: 'tasks', since: '2025-11-25' }],
  ['tasks/cancel', { ...plain, capability: 'tasks', nameKey: 'taskId', safe: false, since: '2025-11-25' }],
]);
