// Who may call: an open gateway stays on loopback, and an issuer's keys and tenants make sense (design §7).

import { readFileSync } from 'node:fs';
import { type Check, type Draft, type Item, itemAt, textAt, textsAt } from '../draft.ts';
import type { Report } from '../faults.ts';
import { issuersOf } from './names.ts';

export const checkAuth: Check = (draft, report) => {
  const auth = itemAt(draft.root, 'auth');
  if (auth === undefined) return;
  const issuers = issuersOf(draft.root);
  if (textAt(auth, 'mode') === 'open') {
    checkOpen(draft, report);
    if (draft.written(['auth', 'issuers'])) {
      report(
        ['auth', 'issuers'],
        'nobody is asked for a token in open mode: take issuers out, or set mode: jwt',
        'key',
      );
    }
  }
  if (textAt(auth, 'mode') === 'jwt' && !draft.written(['auth', 'issuers'])) {
    report(['auth', 'mode'], 'mode jwt needs issuers: add one under auth.issuers, or set mode: open on loopback');
  }
  for (const issuer of issuers) checkIssuer(draft, issuer, report);
};

function checkOpen(draft: Draft, report: Report): void {
  const host = textAt(itemAt(draft.root, 'listen') ?? draft.root, 'host');
  if (host === undefined || isLoopback(host)) return;
  const words = `auth.mode is open, and listen.host ${draft.shown(['listen', 'host'])} is not loopback`;
  report(['listen', 'host'], `${words}: everyone who reaches it could call. Set 127.0.0.1, or auth.mode: jwt`);
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

function checkIssuer(draft: Draft, issuer: Item, report: Report): void {
  const claims = itemAt(issuer, 'claims');
  if (claims !== undefined && claims.value.tenant === undefined && textsAt(issuer, 'tenants').length > 1) {
    const words = 'without a tenant claim an issuer must name exactly one tenant: set claims.tenant, or keep one here';
    report([...issuer.path, 'tenants'], words, 'key');
  }
  const uri = textAt(issuer, 'jwksUri');
  if (uri?.startsWith('http://') && !isLoopback(hostOf(uri))) {
    report([...issuer.path, 'jwksUri'], 'keys must come over https (http only on loopback): correct the URL');
  }
  const file = textAt(issuer, 'jwksFile');
  const path = [...issuer.path, 'jwksFile'];
  const fault = file === undefined || !draft.reads(path, file) ? null : keyFileFault(draft.absolute(file));
  if (fault !== null) {
    const words = `the key file ${draft.shown(path)} ${fault}: put the issuer’s JWKS there (relative to this file)`;
    report(path, fault === MISSING ? `${words}; to try it out, \`npm run token\` makes one` : words);
  }
}

function hostOf(uri: string): string {
  return URL.canParse(uri) ? new URL(uri).hostname.replace(/^\[|\]$/g, '') : '';
}

const MISSING = 'does not exist';

function keyFileFault(file: string): string | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? MISSING : 'cannot be read';
  }
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown };
    return Array.isArray(keys) ? null : 'holds no "keys"';
  } catch {
    return 'is not JSON';
  }
}
