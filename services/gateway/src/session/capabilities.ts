// Capabilities on the two sides of a legacy `initialize`, cut to the negotiated revision (protocol.md §1.9). What the
// client declared is otherwise kept; raising it to modern is the pool manager's business. Pure.

import type { ClientCapabilities, Implementation } from '@lockkeeper/protocol/mcp/capabilities';
import { UI_EXTENSION } from '@lockkeeper/protocol/mcp/meta';
import { atLeast, type LegacyRevision } from '@lockkeeper/protocol/mcp/revision';

type Writable = { -readonly [K in keyof ClientCapabilities]: ClientCapabilities[K] };

/** `tasks` is dropped: it is not bridged (protocol.md §5.3). Of extensions only Apps has a place here (Part 7 #33). */
export function cutClientCapabilities(declared: unknown, revision: LegacyRevision): ClientCapabilities {
  if (!isObject(declared)) return {};
  const out: Writable = {};
  const { roots, sampling, elicitation, extensions, experimental } = declared;
  if (isObject(roots)) out.roots = roots;
  if (isObject(sampling)) out.sampling = atLeast(revision, '2025-11-25') ? sampling : {};
  if (isObject(elicitation) && atLeast(revision, '2025-06-18')) {
    out.elicitation = atLeast(revision, '2025-11-25') ? elicitation : {};
  }
  const ui = isObject(extensions) ? extensions[UI_EXTENSION] : undefined;
  if (isObject(ui)) out.extensions = { [UI_EXTENSION]: ui };
  if (isObject(experimental)) out.experimental = experimental;
  return out;
}

const SERVER_SINCE: Readonly<Record<string, LegacyRevision>> = {
  tools: '2024-11-05',
  prompts: '2024-11-05',
  resources: '2024-11-05',
  logging: '2024-11-05',
  experimental: '2024-11-05',
  completions: '2025-03-26',
  // Offered only where the route bridges them (protocol.md §5.3).
  tasks: '2025-11-25',
};

/** For InitializeResult: only what the revision has a name for, and Apps' settings. */
export function cutServerCapabilities(offered: object, revision: LegacyRevision): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(offered)) {
    const since = SERVER_SINCE[key];
    if (since !== undefined && value !== undefined && atLeast(revision, since)) out[key] = value;
  }
  const extensions = (offered as { extensions?: unknown }).extensions;
  const ui = isObject(extensions) ? extensions[UI_EXTENSION] : undefined;
  if (ui !== undefined) out.extensions = { [UI_EXTENSION]: ui };
  return out;
}

const IMPLEMENTATION_SINCE: Readonly<Record<string, LegacyRevision>> = {
  name: '2024-11-05',
  version: '2024-11-05',
  title: '2025-06-18',
  icons: '2025-11-25',
  description: '2025-11-25',
  websiteUrl: '2025-11-25',
};

export function cutImplementation(info: Implementation, revision: LegacyRevision): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(info).filter(([key]) => {
      const since = IMPLEMENTATION_SINCE[key];
      return since !== undefined && atLeast(revision, since);
    }),
  );
}

function isObject(value: unknown): value is Record<string, never> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
