// Desktop servers to a configuration of ours as YAML text. Pure. Values that look like secrets become references to
// environment variables, and the list of what to set comes with it.

import { stringify } from 'yaml';
import type { DesktopCommand, DesktopRemote, DesktopServer } from './desktop-servers.ts';
import { argumentParts, looksSecret } from './secrets.ts';

export interface Converted {
  readonly yaml: string;
  /** Environment variables to set, and what each is for. */
  readonly needed: readonly { readonly variable: string; readonly purpose: string }[];
  readonly notes: readonly string[];
}

interface Work {
  /** Variable by value, so that one secret used twice is one variable. */
  readonly variables: Map<string, { variable: string; purpose: string }>;
  readonly notes: string[];
  readonly source: readonly DesktopServer[];
}

export function convertServers(source: readonly DesktopServer[], tenant: string): Converted {
  const work: Work = { variables: new Map(), notes: [], source };
  const names = uniqueNames(source, work.notes);
  const servers = source.map((server, i) => ({
    name: names[i] ?? '',
    tenant,
    ...(server.kind === 'remote' ? { http: remote(server, work) } : { stdio: command(server, work) }),
  }));
  noteRunners(source, work.notes);
  const needed = [...work.variables.values()].sort((a, b) => (a.variable < b.variable ? -1 : 1));
  const config = {
    listen: { host: '127.0.0.1', port: 8080, adminPort: 9090 },
    auth: { mode: 'open' },
    tenants: [{ name: tenant }],
    servers,
    routes: [
      ...names.map((name) => ({ path: `/${tenant}/${name}/mcp`, tenant, server: name })),
      { path: `/${tenant}/mcp`, tenant, servers: names },
    ],
  };
  return { yaml: `${header(needed)}${stringify(config, { lineWidth: 0 })}`, needed, notes: work.notes };
}

function command(server: DesktopCommand, work: Work): object {
  return {
    command: server.command,
    ...(server.args.length > 0 && { args: server.args.map((_, n) => convertArgument(server, n, work)) }),
    ...(Object.keys(server.env).length > 0 && { env: convertMap(server, server.env, work) }),
    ...(server.cwd !== undefined && { cwd: server.cwd }),
  };
}

function remote(server: DesktopRemote, work: Work): object {
  return {
    url: server.url,
    ...(server.sse && { transport: 'sse' }),
    ...(Object.keys(server.headers).length > 0 && { headers: convertMap(server, server.headers, work) }),
    ...server.place,
  };
}

function header(needed: Converted['needed']): string {
  const set = needed.map(({ variable, purpose }) => `#   ${variable}: ${purpose}\n`).join('');
  return `# Imported. Open mode: everyone who reaches it is one user; on loopback only.\n${
    needed.length === 0 ? '' : `# Set these environment variables before you start it:\n${set}`
  }`;
}

/** Our names are narrower than theirs. */
function uniqueNames(source: readonly DesktopServer[], notes: string[]): string[] {
  const taken = new Set<string>();
  return source.map(({ name }) => {
    const plain =
      name
        .normalize('NFKD')
        .replace(/[^A-Za-z0-9_-]+/g, '-')
        .replace(/^[-_]+|-+$/g, '')
        .slice(0, 36) || 'server';
    let own = plain;
    for (let n = 2; taken.has(own); n++) own = `${plain}-${n}`;
    taken.add(own);
    if (own !== name) notes.push(`${name}: is called ${own} here`);
    return own;
  });
}

/** Environment variables, or headers. */
function convertMap(server: DesktopServer, map: Readonly<Record<string, string>>, work: Work): Record<string, string> {
  return Object.fromEntries(
    Object.entries(map).map(([key, value]) => {
      const told = convertReferences(server, value, work);
      if (told !== null) return [key, told];
      return [
        key,
        looksSecret(key, value)
          ? reference(
              server,
              server.kind === 'remote' ? key.toUpperCase() : key,
              value,
              `${key} of ${server.name}`,
              work,
            )
          : literal(value),
      ];
    }),
  );
}

function convertArgument(server: DesktopCommand, index: number, work: Work): string {
  const argument = server.args[index] ?? '';
  const told = convertReferences(server, argument, work);
  if (told !== null) return told;
  const { head, name, value } = argumentParts(argument);
  // `--token VALUE`: the name is the argument before.
  const before = /^--?([A-Za-z][\w-]*)$/.exec(server.args[index - 1] ?? '')?.[1] ?? '';
  const isValue = head !== '' || !argument.startsWith('-');
  if (!isValue || !looksSecret(name || (value.startsWith('-') ? '' : before), value)) return literal(argument);
  const key = (name || before || `ARG_${index + 1}`).toUpperCase().replace(/[^A-Z0-9]+/g, '_');
  work.notes.push(
    `${server.name}: argument ${index + 1} looks like a secret. It is taken from the environment now, but whoever may list processes can read it: see whether the server takes it by env`,
  );
  return head + reference(server, key, value, `argument ${index + 1} of ${server.name}`, work);
}

/** `${VAR}`, `${VAR:-x}`, `${env:VAR}` and `${input:id}` of clients that know them; null where there is none. */
function convertReferences(server: DesktopServer, text: string, work: Work): string | null {
  let found = false;
  const converted = text.replace(
    /\$\{(?:(env|input):([^{}]+)|([A-Z_][A-Z0-9_]*)(:-[^{}]*)?)\}/g,
    (
      _whole,
      kind: string | undefined,
      id: string | undefined,
      plain: string | undefined,
      fallback: string | undefined,
    ) => {
      found = true;
      const variable = (plain ?? id ?? '').replace(/[^A-Za-z0-9_]+/g, '_').replace(/^(?=\d)/, '_');
      const own = kind === 'input' ? variable.toUpperCase() : variable;
      work.variables.set(`reference ${own}`, { variable: own, purpose: `for ${server.name}` });
      if (fallback !== undefined) work.notes.push(`${server.name}: ${own} had a default there; set it here`);
      return `\${env:${own}}`;
    },
  );
  return found ? converted : null;
}

function reference(server: DesktopServer, key: string, value: string, purpose: string, work: Work): string {
  const known = work.variables.get(`value ${value}`);
  const taken = new Set([...work.variables.values()].map(({ variable }) => variable));
  const plain = key.replace(/[^A-Za-z0-9_]+/g, '_').replace(/^(?=\d)/, '_');
  const longer = `${server.name}_${plain}`
    .toUpperCase()
    .replace(/[^A-Z0-9_]+/g, '_')
    .replace(/^(?=\d)/, '_');
  let variable = known?.variable ?? (taken.has(plain) ? longer : plain);
  for (let n = 2; known === undefined && taken.has(variable); n++) variable = `${longer}_${n}`;
  if (known === undefined) work.variables.set(`value ${value}`, { variable, purpose });
  return `\${env:${variable}}`;
}

/** A text of theirs that our loader would take for a reference, or for a misspelt one. */
function literal(text: string): string {
  return text.replace(/\$(?=\{)/g, '$$$$');
}

function noteRunners(source: readonly DesktopServer[], notes: string[]): void {
  const runners = source
    .filter((server) => server.kind === 'command')
    .filter(({ command }) => /(^|[\\/])(npx|uvx|bunx|pnpx)(\.cmd)?$/.test(command))
    .map(({ name }) => name);
  if (runners.length === 0) return;
  notes.push(
    `${runners.join(', ')}: started by a package runner, which asks the network at each start and keeps a second process. Install the package and run its program instead`,
  );
}
