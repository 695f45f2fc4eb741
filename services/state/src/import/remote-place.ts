// Where the server of a URL is, as far as the URL tells: a configuration must say so of everything that is not public.

import { isIP } from 'node:net';

export interface Place {
  readonly plain?: true;
  readonly cidrs?: readonly string[];
}

/** Null: plain http to a name, of which nobody can tell where it leads. */
export function placeOf(text: string): Place | null {
  const { protocol, hostname } = new URL(text);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const cidrs = rangesOf(host);
  if (protocol === 'https:') return cidrs === null ? {} : { cidrs };
  return cidrs === null ? null : { plain: true, cidrs };
}

function rangesOf(host: string): string[] | null {
  if (host === 'localhost' || host.endsWith('.localhost') || /^127\.|^::1$/.test(host))
    return ['127.0.0.0/8', '::1/128'];
  const family = isIP(host);
  if (family === 0) return null;
  return [`${host}/${family === 4 ? 32 : 128}`];
}
