// An identity provider for tests: keys, a JWKS as file or over HTTP, and tokens of every kind, good and bad.

import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IssuerSettings, Snapshot } from '@lockkeeper/protocol/config/settings';
import { exportJWK, type JWTPayload, SignJWT } from 'jose';

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function ecKey(kid: string): SigningKey {
  return { kid, alg: 'ES256', ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
}

export function rsaKey(kid: string, modulusLength: number): SigningKey {
  return { kid, alg: 'RS256', ...generateKeyPairSync('rsa', { modulusLength }) };
}

export async function jwksOf(...keys: SigningKey[]): Promise<{ keys: object[] }> {
  const jwks = keys.map(async (k) => ({ ...(await exportJWK(k.publicKey)), kid: k.kid, alg: k.alg, use: 'sig' }));
  return { keys: await Promise.all(jwks) };
}

export interface JwksFile {
  readonly path: string;
  write(document: unknown): void;
  remove(): void;
}

export function jwksFile(document: unknown): JwksFile {
  const dir = mkdtempSync(join(tmpdir(), 'lk-auth-'));
  const path = join(dir, 'jwks.json');
  const write = (next: unknown) => writeFileSync(path, typeof next === 'string' ? next : JSON.stringify(next));
  write(document);
  return { path, write, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

export interface JwksHost {
  readonly uri: string;
  fetches: number;
  respond: (response: import('node:http').ServerResponse) => void;
  close(): Promise<void>;
}

export async function jwksHost(document: unknown): Promise<JwksHost> {
  const host = { fetches: 0, respond: (r: import('node:http').ServerResponse) => void r.end(JSON.stringify(document)) };
  const server: Server = createServer((_request, response) => {
    host.fetches++;
    host.respond(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return Object.assign(host, { uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`, close });
}

export const ISSUER = 'https://idp.example';
export const RESOURCE = 'https://gw.example/acme/everything/mcp';

export function issuerOf(jwks: IssuerSettings['jwks'], change: Partial<IssuerSettings> = {}): IssuerSettings {
  return {
    issuer: ISSUER,
    jwks,
    tenants: ['acme'],
    claims: { subject: 'sub', tenant: 'tenant', groups: 'groups', client: 'client_id' },
    algorithms: ['ES256', 'RS256'],
    ...change,
  };
}

export function jwtAuth(...issuers: IssuerSettings[]): Snapshot['auth'] {
  return { mode: 'jwt', issuers };
}

export interface TokenChange {
  readonly claims?: JWTPayload;
  /** Claims to leave out. */
  readonly without?: readonly string[];
  readonly header?: Record<string, unknown>;
  readonly now?: number;
}

/** A good token of alice for the one-server route, changed as asked. */
export function tokenOf(key: SigningKey, change: TokenChange = {}): Promise<string> {
  const now = Math.floor((change.now ?? Date.now()) / 1000);
  const claims: JWTPayload = {
    iss: ISSUER,
    sub: 'alice',
    aud: RESOURCE,
    tenant: 'acme',
    groups: ['dev'],
    client_id: 'ide',
    iat: now,
    exp: now + 600,
    ...change.claims,
  };
  for (const name of change.without ?? []) delete claims[name];
  const header = { alg: key.alg, kid: key.kid, typ: 'at+jwt', ...change.header };
  return new SignJWT(claims).setProtectedHeader(header).sign(key.privateKey);
}

/** A token put together by hand: what no library would sign. */
export function forged(header: object, claims: object, signature = 'AAAA'): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(claims)}.${signature}`;
}

export const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');
