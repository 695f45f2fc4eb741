// Remote servers: a URL that gives nothing away, headers that are the operator's to set, ranges that mean something
// (auth-security NET-1, NET-3, UP-1).

import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { type Check, type Draft, type Item, itemAt, itemsAt, textAt, textsAt } from '../draft.ts';
import type { Path, Report } from '../faults.ts';
import { NOT_YOURS, urlFault } from '../remote-url.ts';

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// Visible ASCII, blanks and tabs inside: what every HTTP implementation passes on unchanged.
const VALUE = /^[\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?$/;

export const checkRemote: Check = (draft, report) => {
  const tenants = new Map(itemsAt(draft.root, 'tenants').map((tenant) => [textAt(tenant, 'name'), tenant]));
  for (const tenant of tenants.values()) {
    const all = itemAt(tenant, 'credentials');
    for (const name of Object.keys(all?.value ?? {})) checkHeaders(itemAt(all!, name), report);
  }
  for (const server of itemsAt(draft.root, 'servers')) {
    const http = itemAt(server, 'http');
    if (http === undefined) continue;
    checkUrl(draft, http, report);
    checkHeaders(itemAt(http, 'headers'), report);
    checkRanges(http, report);
    checkAuthority(http, report);
    checkCredential(draft, http, tenants.get(textAt(server, 'tenant')), report);
    if (textAt(http, 'transport') === 'sse' && textAt(server, 'era') === 'modern') {
      const words = 'sse is a transport of the legacy era: take era: modern out, or name another transport';
      report([...http.path, 'transport'], words);
    }
  }
};

function checkUrl(draft: Draft, http: Item, report: Report): void {
  const text = textAt(http, 'url');
  if (text === undefined) return;
  const path = [...http.path, 'url'];
  const fault = urlFault(text, draft.shown(path));
  if (fault === null) checkScheme(http, new URL(text), path, report);
  else report(path, fault);
}

function checkScheme(http: Item, url: URL, path: Path, report: Report): void {
  const plain = http.value.plain === true;
  if (url.protocol === 'http:' && !plain) {
    report(path, 'http.url is http://, which anyone on the way can read: use https://, or set plain: true and cidrs');
  }
  if (!plain) return;
  const words =
    url.protocol === 'https:'
      ? 'plain is for http:// and the url is https://: take it out'
      : 'plain needs cidrs: name the ranges of your network in which the server lies';
  if (url.protocol === 'https:' || textsAt(http, 'cidrs').length === 0) report([...http.path, 'plain'], words);
}

function checkHeaders(headers: Item | undefined, report: Report): void {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers?.value ?? {})) {
    const path = [...headers!.path, name];
    const quoted = JSON.stringify(name);
    if (!TOKEN.test(name)) report(path, `${quoted} is no name of a header: take it out, or correct it`, 'key');
    else if (NOT_YOURS.test(name)) {
      report(
        path,
        `the header ${quoted} is not yours to set, since HTTP or MCP give it its meaning: take it out`,
        'key',
      );
    } else if (seen.has(name.toLowerCase())) {
      report(path, `the header ${quoted} stands here twice, since case does not count: keep one`, 'key');
    }
    seen.add(name.toLowerCase());
    if (typeof value !== 'string' || VALUE.test(value)) continue;
    report(path, `the value of ${quoted} cannot be sent: visible ASCII in one line, without blanks around it`);
  }
}

function checkCredential(draft: Draft, http: Item, tenant: Item | undefined, report: Report): void {
  const name = textAt(http, 'credential');
  // Without its tenant that is the fault, and has been told.
  if (name === undefined || tenant === undefined) return;
  const path = [...http.path, 'credential'];
  const all = itemAt(tenant, 'credentials');
  const credential = all !== undefined && Object.hasOwn(all.value, name) ? itemAt(all, name) : undefined;
  if (credential === undefined) {
    const known = Object.keys(all?.value ?? {}).map((one) => JSON.stringify(one));
    const use = known.length === 0 ? '' : `, or use ${known.slice(0, 10).join(', ')}`;
    const words = `its tenant has no credential ${draft.shown(path)}: add it under credentials of the tenant`;
    report(path, `${words}${use}`);
    return;
  }
  const own = new Set(Object.keys(itemAt(http, 'headers')?.value ?? {}).map((one) => one.toLowerCase()));
  const twice = Object.keys(credential.value).find((one) => own.has(one.toLowerCase()));
  if (twice === undefined) return;
  report(path, `the header ${JSON.stringify(twice)} is in this credential and in http.headers: keep one`);
}

function checkAuthority(http: Item, report: Report): void {
  const text = textAt(http, 'ca');
  if (text === undefined) return;
  try {
    new X509Certificate(text);
  } catch {
    report([...http.path, 'ca'], 'http.ca holds no certificate: give PEM text, for instance by ${file:ca.pem}');
  }
}

/** Ranges that are never reached, whatever is declared: this host itself, metadata services, everyone at once. */
const NEVER = /^(0|169\.254|22[4-9]|23\d|24\d|25[0-5])\.|^(fe[89ab][0-9a-f]?|ff[0-9a-f]{2}):/i;
const WIDEST = { 4: 8, 6: 7 } as const;

function checkRanges(http: Item, report: Report): void {
  for (const { path, text } of textsAt(http, 'cidrs')) {
    const [address = '', bits = '', ...more] = text.split('/');
    const family = isIP(address);
    const length = /^\d{1,3}$/.test(bits) ? Number(bits) : -1;
    if (family === 0 || more.length > 0 || length < 0 || length > (family === 4 ? 32 : 128)) {
      report(path, 'http.cidrs needs ranges as address/bits: give one like 10.20.0.0/16 or fd12::/48');
    } else if (length < WIDEST[family as 4 | 6]) {
      report(path, 'http.cidrs holds a range so wide that it says nothing: name the one in which the server lies');
    } else if (NEVER.test(address)) {
      report(
        path,
        'http.cidrs holds a range in which no server may lie (link-local, multicast, reserved): take it out',
      );
    }
  }
}
