// Every name that is used stands somewhere, and none stands twice.

import { type Check, type Draft, type Item, itemsAt, textAt, textsAt } from '../draft.ts';
import type { Path, Report } from '../faults.ts';

export const checkNames: Check = (draft, report) => {
  const { root } = draft;
  const tenants = itemsAt(root, 'tenants');
  const servers = itemsAt(root, 'servers');
  const policy = itemsAt(root, 'policy');

  unique(draft, tenants, 'name', () => '', 'tenants', report);
  unique(draft, servers, 'name', (server) => textAt(server, 'tenant') ?? '', 'servers of one tenant', report);
  unique(draft, policy, 'name', () => '', 'policy rules', report);
  unique(draft, issuersOf(root), 'issuer', () => '', 'issuers', report);

  const known = new Set(tenants.flatMap((tenant) => textAt(tenant, 'name') ?? []));
  const needTenant = (path: Path, name: string | undefined): void => {
    // Without any tenant that is the fault, and the schema has told it.
    if (name === undefined || known.size === 0 || known.has(name)) return;
    report(path, `there is no tenant ${draft.shown(path)}: add it under tenants, or use ${oneOf(known)}`);
  };
  for (const item of [...servers, ...policy, ...itemsAt(root, 'routes')]) {
    needTenant([...item.path, 'tenant'], textAt(item, 'tenant'));
  }
  for (const issuer of issuersOf(root)) {
    for (const { path, text } of textsAt(issuer, 'tenants')) needTenant(path, text);
  }
  checkServers(draft, servers, report);
};

function checkServers(draft: Draft, servers: readonly Item[], report: Report): void {
  // A server whose own name is in doubt may be the one that is meant.
  const whole = Array.isArray(draft.root.value.servers) && draft.root.value.servers.length === servers.length;
  if (!whole || servers.some((server) => textAt(server, 'name') === undefined)) return;
  const byTenant = Map.groupBy(servers, (server) => textAt(server, 'tenant'));
  const needServer = (tenant: string | undefined, path: Path, name: string | undefined): void => {
    const known = new Set((byTenant.get(tenant) ?? []).flatMap((server) => textAt(server, 'name') ?? []));
    if (tenant === undefined || name === undefined || known.has(name)) return;
    const elsewhere = servers.some((server) => textAt(server, 'name') === name) ? ' (another tenant has one)' : '';
    const words = `tenant ${JSON.stringify(tenant)} has no server ${draft.shown(path)}${elsewhere}`;
    report(path, `${words}: add it under servers, or use ${oneOf(known)}`);
  };
  for (const rule of itemsAt(draft.root, 'policy')) {
    for (const allow of itemsAt(rule, 'allow')) {
      needServer(textAt(rule, 'tenant'), [...allow.path, 'server'], textAt(allow, 'server'));
    }
  }
  for (const route of itemsAt(draft.root, 'routes')) {
    const tenant = textAt(route, 'tenant');
    needServer(tenant, [...route.path, 'server'], textAt(route, 'server'));
    for (const { path, text } of textsAt(route, 'servers')) needServer(tenant, path, text);
  }
}

export function issuersOf(root: Item): Item[] {
  const auth = root.value.auth;
  if (typeof auth !== 'object' || auth === null) return [];
  return itemsAt({ path: ['auth'], value: auth as Record<string, unknown> }, 'issuers');
}

/** `within` says among whom a name must be alone. */
export function unique(
  draft: Draft,
  items: readonly Item[],
  key: string,
  within: (item: Item) => string,
  what: string,
  report: Report,
): void {
  const seen = new Set<string>();
  for (const item of items) {
    const name = textAt(item, key);
    if (name === undefined) continue;
    const id = JSON.stringify([within(item), name]);
    const path = [...item.path, key];
    if (seen.has(id)) report(path, `two ${what} have the ${key} ${draft.shown(path)}: rename one, or take it out`);
    seen.add(id);
  }
}

function oneOf(known: ReadonlySet<string>): string {
  const names = [...known].slice(0, 10).map((name) => JSON.stringify(name));
  return names.length === 0 ? 'one that is there (none is yet)' : names.join(', ');
}
