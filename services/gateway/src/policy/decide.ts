// The one decision about who may do what (P-6, P-7, P-14). Pure: rules, a person and a name in, allow or deny out.
// Lists are filtered and calls are judged by this same function, so what is seen is what can be done. It knows names
// only; whether a thing of that name exists is nothing to it, so a denial can tell nobody (P-15).

import type { AllowEntry, PolicyRule, Snapshot } from '@lockkeeper/protocol/config/settings';
import { matches } from './glob.ts';

export type Kind = 'tool' | 'prompt' | 'resource';

export type Rules = Pick<Snapshot, 'auth' | 'policy'>;

export interface Subject {
  readonly tenant: string;
  readonly groups: readonly string[];
}

/** `rule` is for audit; it never reaches the caller. */
export type Decision =
  | { readonly allow: true; readonly rule: string }
  | { readonly allow: false; readonly rule: 'default-deny' };

const OPEN: Decision = { allow: true, rule: 'open' };
const DENIED: Decision = { allow: false, rule: 'default-deny' };
const LIST_OF = { tool: 'tools', prompt: 'prompts', resource: 'resources' } as const;

/** `name` is the server's own: a tool's or prompt's name, a resource's URI or a template's text. */
export function decide(rules: Rules, subject: Subject, server: string, kind: Kind, name: string): Decision {
  if (rules.auth.mode === 'open') return OPEN;
  for (const rule of rules.policy) {
    if (!concerns(rule, subject)) continue;
    for (const entry of rule.allow) {
      if (entry.server !== server) continue;
      for (const pattern of entry[LIST_OF[kind]]) if (matches(pattern, name)) return { allow: true, rule: rule.name };
    }
  }
  return DENIED;
}

/** Whether any name of that kind at that server could be allowed. An empty list is nothing, never everything. */
export function reaches(rules: Rules, subject: Subject, server: string, kind: Kind): boolean {
  if (rules.auth.mode === 'open') return true;
  for (const rule of rules.policy) {
    if (!concerns(rule, subject)) continue;
    for (const entry of rule.allow) if (entry.server === server && entry[LIST_OF[kind]].length > 0) return true;
  }
  return false;
}

/** Text of all that the subject is allowed at these servers; equal texts, equal views. For cursors (T-33). */
export function viewText(rules: Rules, subject: Subject, servers: readonly string[]): string {
  if (rules.auth.mode === 'open') return 'open';
  return JSON.stringify(servers.map((server) => entriesOf(rules, subject, server).map(patternsOf)));
}

function patternsOf(entry: AllowEntry): readonly (readonly string[])[] {
  return [entry.tools, entry.prompts, entry.resources];
}

function entriesOf(rules: Rules, subject: Subject, server: string): AllowEntry[] {
  return rules.policy
    .filter((rule) => concerns(rule, subject))
    .flatMap((rule) => rule.allow.filter((entry) => entry.server === server));
}

function concerns(rule: PolicyRule, subject: Subject): boolean {
  return rule.tenant === subject.tenant && rule.groups.some((group) => subject.groups.includes(group));
}
