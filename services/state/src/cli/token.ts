// `npm run token -- --sub alice --groups dev --route /acme/mcp`: a development issuer. Makes its key pair once, puts its
// JWKS where the configuration looks for one that is not there yet, and prints a token to stdout and nothing else.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { IssuerSettings } from '@lockkeeper/protocol/config/settings';
import { parseSource } from '../config/document.ts';
import { loadPart } from '../config/load.ts';
import type { Reads } from '../config/references.ts';
import { type DevKey, devKey } from '../dev-issuer/keys.ts';
import { devToken } from '../dev-issuer/token.ts';

const USAGE =
  'usage: npm run token -- --sub alice --groups dev,ops --route /acme/mcp [--tenant acme] [--client cli] [--ttl 1h] [--config FILE] [--dir DIR]';
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
const MAX_TTL_SECONDS = 30 * 86_400;

function run(): void {
  const { values } = parseArgs({
    options: {
      sub: { type: 'string' },
      groups: { type: 'string', default: '' },
      route: { type: 'string' },
      tenant: { type: 'string' },
      client: { type: 'string', default: 'cli' },
      ttl: { type: 'string', default: '1h' },
      config: { type: 'string', default: process.env.LOCKKEEPER_CONFIG ?? 'ops/examples/lockkeeper.yaml' },
      dir: { type: 'string', default: '.lockkeeper/dev-issuer' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const { sub, route, tenant, config } = values;
  if (sub === undefined || route === undefined) throw new Error(USAGE);
  const key = devKey(resolve(values.dir));
  if (key.made) console.error(`made a development key; its public half is ${relative('.', key.jwksFile)}`);
  provideKeyFiles(config, key);
  const wish = {
    subject: sub,
    groups: values.groups.split(',').filter((group) => group !== ''),
    route,
    client: values.client,
    ttlSeconds: secondsOf(values.ttl),
    ...(tenant === undefined ? {} : { tenant }),
  };
  const isOurs = (issuer: IssuerSettings): boolean => 'file' in issuer.jwks && holdsKey(issuer.jwks.file, key.kid);
  const nowSeconds = Math.floor(Date.now() / 1000);
  console.log(devToken(loadPart(config, process.env, reads), wish, { ...key, isOurs, nowSeconds }));
}

/** What a token is made of; whoever makes one need not have the secrets of servers, store and links. */
const reads: Reads = ([section, first, key]) => {
  switch (section) {
    case 'auth':
    case 'routes':
    case 'publicBaseUrl':
      return true;
    case 'listen':
      return first === 'host' || first === 'port';
    default:
      return section === 'tenants' && key === 'name';
  }
};

/** A configuration whose jwksFile is not there yet gets ours; one that is there is never touched. */
function provideKeyFiles(config: string, key: DevKey): void {
  if (!existsSync(config)) return;
  const parsed = parseSource(readFileSync(config, 'utf8'));
  const data = (parsed.kind === 'document' ? parsed.document.data : {}) as { auth?: { issuers?: unknown } };
  const issuers = Array.isArray(data.auth?.issuers) ? (data.auth.issuers as { jwksFile?: unknown }[]) : [];
  for (const issuer of issuers) {
    if (typeof issuer?.jwksFile !== 'string' || issuer.jwksFile.includes('${')) continue;
    const file = resolve(dirname(config), issuer.jwksFile);
    if (existsSync(file) || !existsSync(dirname(file))) continue;
    writeFileSync(file, key.jwks);
    console.error(`wrote the public key to ${relative('.', file)}, where ${config} looks for it`);
  }
}

function holdsKey(file: string, kid: string): boolean {
  const { keys } = JSON.parse(readFileSync(file, 'utf8')) as { keys: { kid?: unknown }[] };
  return keys.some((key) => key.kid === kid);
}

function secondsOf(ttl: string): number {
  const match = /^(\d{1,7})([smhd])$/.exec(ttl);
  const seconds = Number(match?.[1]) * (UNITS[match?.[2] ?? ''] ?? 0);
  if (!(seconds > 0 && seconds <= MAX_TTL_SECONDS)) throw new Error('--ttl: give 30s, 15m, 1h or 7d; 30 days at most');
  return seconds;
}

try {
  run();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
