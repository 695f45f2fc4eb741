// A folder with a configuration in it, for tests: the sample of the walking lock, or any text.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export const SAMPLE = `listen: { host: 127.0.0.1, port: 8080, adminPort: 9090 }
publicBaseUrl: http://127.0.0.1:8080
state: memory                 # or redis://…
auth:
  mode: jwt                   # or "open": loopback only, refused on any other address
  issuers:
    - issuer: https://idp.example
      jwksFile: ./jwks.json   # or jwksUri
      tenants: [acme]         # which tenants it may assert
      claims: { subject: sub, tenant: tenant, groups: groups, client: client_id }
      # audience: default is the called route's own URL
tenants: [{ name: acme }]
servers:
  - name: everything
    tenant: acme
    stdio: { command: node, args: [./server.js], env: { FOO: bar }, cwd: . }
    isolation: user           # shared | exclusive | user | session
    ask: { roots: caller, sampling: caller, elicitation: caller }   # or never
    pool: { max: 8, minWarm: 0, idleMs: 300000 }                    # per key; maxPerServer, maxPerTenant, maxPerNode apart
policy:
  - { tenant: acme, groups: [dev], allow: [{ server: everything, tools: ["*"], prompts: ["*"], resources: ["*"] }] }
routes:
  - { path: /acme/everything/mcp, tenant: acme, server: everything }
  - { path: /acme/mcp, tenant: acme, servers: [everything] }
`;

/** The smallest file that loads; `more` goes below it. */
export function openConfig(more = ''): string {
  return `auth: { mode: open }
tenants: [{ name: acme }]
servers: [{ name: one, tenant: acme, stdio: { command: node } }]
routes: [{ path: /acme/mcp, tenant: acme, server: one }]
${more}`;
}

export interface Folder {
  readonly path: string;
  /** Absolute path of a file in it. */
  file(name: string): string;
  write(name: string, text: string): string;
  remove(): void;
}

export function makeFolder(files: Readonly<Record<string, string>> = {}): Folder {
  const path = mkdtempSync(join(tmpdir(), 'lockkeeper-config-'));
  const folder: Folder = {
    path,
    file: (name) => join(path, name),
    write(name, text) {
      mkdirSync(dirname(join(path, name)), { recursive: true });
      writeFileSync(join(path, name), text);
      return join(path, name);
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
  for (const [name, text] of Object.entries(files)) folder.write(name, text);
  return folder;
}
