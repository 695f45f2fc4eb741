// Which field of which thing a revision knows (protocol.md §1.6). Older peers ignore what they do not know, but the
// strict validators among them do not, so what a revision lacks is taken out for its clients.

import type { JsonKind, Member, Span } from '@lockkeeper/protocol/json/scan';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import { type Change, changed, type Item, mapArray, mapObject } from './edit.ts';

/** Later than any revision: the field belongs to a feature we do not serve to legacy clients. */
const NEVER = '9999-12-31';

type Since = Readonly<Record<string, string>>;

const NAMED: Since = { title: '2025-06-18', icons: '2025-11-25', _meta: '2025-06-18' };

export const FIELDS = {
  // `execution` speaks of 2025-11-25 tasks, which are not bridged (protocol.md §5.3 "tasks, bridge off").
  tool: { ...NAMED, annotations: '2025-03-26', outputSchema: '2025-06-18', execution: NEVER },
  resource: NAMED,
  prompt: NAMED,
  argument: { title: '2025-06-18' },
  contents: { _meta: '2025-06-18' },
  block: NAMED,
  annotations: { lastModified: '2025-06-18' },
} as const satisfies Record<string, Since>;

export function knows(since: Since, key: string, revision: string): boolean {
  const first = since[key];
  return first === undefined || atLeast(revision, first);
}

export function fieldRule(since: Since, revision: string): (m: Member) => Change {
  return (m) => (knows(since, m.key, revision) ? 'keep' : 'drop');
}

export function lowerAnnotations(bytes: Uint8Array, at: Span & { readonly kind: JsonKind }, revision: string): Change {
  if (at.kind !== 'object') return 'keep';
  return changed(bytes, at, mapObject(bytes, at, fieldRule(FIELDS.annotations, revision)));
}

/** Resources, templates, prompts: fields the revision knows, annotations and arguments likewise. */
export function lowerListed(bytes: Uint8Array, item: Item, kind: 'resource' | 'prompt', revision: string): Change {
  if (item.kind !== 'object') return 'keep';
  const next = mapObject(bytes, item, (m) => {
    if (!knows(FIELDS[kind], m.key, revision)) return 'drop';
    if (m.key === 'annotations') return lowerAnnotations(bytes, m, revision);
    if (m.key === 'arguments' && kind === 'prompt') return lowerArguments(bytes, m, revision);
    return 'keep';
  });
  return changed(bytes, item, next);
}

function lowerArguments(bytes: Uint8Array, m: Member, revision: string): Change {
  if (m.kind !== 'array') return 'keep';
  const next = mapArray(bytes, m, (a) =>
    a.kind === 'object' ? changed(bytes, a, mapObject(bytes, a, fieldRule(FIELDS.argument, revision))) : 'keep',
  );
  return changed(bytes, m, next);
}
