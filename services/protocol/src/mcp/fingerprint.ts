// The projection of a client's capabilities (design §5 "Fingerprint"): what a process is told its client can, after
// `ask`, isolation and the revision have been applied. Everything that is not named here is dropped, so the number of
// fingerprints is small and a legacy process's frozen capabilities can be part of its pool key.

import type { Ask } from '../config/settings.ts';
import type { Isolation } from '../link/keys.ts';
import type { ClientCapabilities } from './capabilities.ts';
import { UI_EXTENSION } from './meta.ts';
import { atLeast } from './revision.ts';

export interface AskSettings {
  readonly roots: Ask;
  readonly sampling: Ask;
  readonly elicitation: Ask;
}

/** `revision` is the one spoken upstream. `{}` for elicitation means form (protocol.md §1.8). */
export function projectCapabilities(
  declared: ClientCapabilities,
  ask: AskSettings,
  isolation: Isolation,
  revision: string,
): ClientCapabilities {
  if (isolation === 'shared') return {};
  const sampling = ask.sampling === 'caller' ? projectSampling(declared, revision) : undefined;
  const elicitation = ask.elicitation === 'caller' ? projectElicitation(declared, revision, isolation) : undefined;
  const ui = declared.extensions?.[UI_EXTENSION];
  return {
    ...(ask.roots === 'caller' && declared.roots !== undefined ? { roots: {} } : {}),
    ...(sampling !== undefined ? { sampling } : {}),
    ...(elicitation !== undefined ? { elicitation } : {}),
    ...(ui !== undefined ? { extensions: { [UI_EXTENSION]: ui } } : {}),
  };
}

function projectSampling(declared: ClientCapabilities, revision: string): ClientCapabilities['sampling'] {
  if (declared.sampling === undefined) return undefined;
  if (!atLeast(revision, '2025-11-25')) return {};
  const { tools, context } = declared.sampling;
  return { ...(tools !== undefined ? { tools: {} } : {}), ...(context !== undefined ? { context: {} } : {}) };
}

function projectElicitation(
  declared: ClientCapabilities,
  revision: string,
  isolation: Isolation,
): ClientCapabilities['elicitation'] {
  if (declared.elicitation === undefined || !atLeast(revision, '2025-06-18')) return undefined;
  const { form, url } = declared.elicitation;
  const hasForm = form !== undefined || url === undefined;
  if (!atLeast(revision, '2025-11-25')) return hasForm ? {} : undefined;
  // `exclusive` gives no URL questions: the grant would die with the process (design §5 table).
  const hasUrl = url !== undefined && isolation !== 'exclusive';
  if (!hasForm && !hasUrl) return undefined;
  return { ...(hasForm ? { form: {} } : {}), ...(hasUrl ? { url: {} } : {}) };
}

/** Canonical text of a projection: equal texts, equal capabilities. `''` when nothing is declared. */
export function fingerprintOf(c: ClientCapabilities): string {
  const words: string[] = [];
  if (c.roots !== undefined) words.push('roots');
  if (c.sampling !== undefined) words.push('sampling');
  if (c.sampling?.tools !== undefined) words.push('sampling.tools');
  if (c.sampling?.context !== undefined) words.push('sampling.context');
  if (c.elicitation?.form !== undefined || (c.elicitation !== undefined && c.elicitation.url === undefined)) {
    words.push('elicitation.form');
  }
  if (c.elicitation?.url !== undefined) words.push('elicitation.url');
  const ui = c.extensions?.[UI_EXTENSION];
  if (ui !== undefined) words.push(`ui=${JSON.stringify(ui)}`);
  return words.join(' ');
}

/** Whether `have` declares all that `need` names, down to mode and sub-capability. */
export function covers(have: ClientCapabilities, need: ClientCapabilities): boolean {
  return missing(have, need) === null;
}

/** The part of `need` that `have` lacks, shaped for -32021 `requiredCapabilities`; null when nothing. */
export function missing(have: ClientCapabilities, need: ClientCapabilities): ClientCapabilities | null {
  const out: { -readonly [K in keyof ClientCapabilities]: ClientCapabilities[K] } = {};
  if (need.roots !== undefined && have.roots === undefined) out.roots = {};
  const sampling = lacking(have.sampling, need.sampling, ['tools', 'context']);
  if (sampling !== undefined) out.sampling = sampling;
  const elicitation = lacking(withForm(have.elicitation), withForm(need.elicitation), ['form', 'url']);
  if (elicitation !== undefined) out.elicitation = elicitation;
  const extensions = lacking(have.extensions, need.extensions, Object.keys(need.extensions ?? {}));
  if (extensions !== undefined && Object.keys(extensions).length > 0) out.extensions = extensions;
  return Object.keys(out).length === 0 ? null : out;
}

function withForm(e: ClientCapabilities['elicitation']): ClientCapabilities['elicitation'] {
  return e !== undefined && e.form === undefined && e.url === undefined ? { form: {} } : e;
}

function lacking(
  have: object | undefined,
  need: object | undefined,
  parts: readonly string[],
): Record<string, object> | undefined {
  if (need === undefined) return undefined;
  const h = (have ?? {}) as Record<string, object | undefined>;
  const n = need as Record<string, object | undefined>;
  const out: Record<string, object> = {};
  for (const part of parts) if (n[part] !== undefined && h[part] === undefined) out[part] = n[part];
  return have === undefined || Object.keys(out).length > 0 ? out : undefined;
}
