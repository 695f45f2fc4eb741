// The two forms of a request target that a server is sent (RFC 9112 §3.2): a path, mostly, or a whole URL, which proxies
// write and every server has to take. A URL's authority counts and Host is ignored then (§3.2.2). Pure: text in, parts out.

export interface RequestTarget {
  /** As it came, to be looked up exactly. */
  readonly path: string;
  /** Without `?`. */
  readonly query: string;
  /** Whose name the request is for: to be judged wherever Host would be. */
  readonly host: string | undefined;
}

const SLASH = 0x2f;
/** No `@`: who writes a user there means something else than he reads (RFC 9110 §4.2.4). */
const ABSOLUTE = /^https?:\/\/([^/?#@\s\\]+)([/?].*)?$/i;
const ANY_URL = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Null: a URL, and none that can be meant for us. */
export function readTarget(url: string, host: string | undefined): RequestTarget | null {
  if (url.charCodeAt(0) === SLASH) return split(url, host);
  const absolute = ABSOLUTE.exec(url);
  if (absolute !== null) return split(absolute[2] ?? '/', absolute[1]);
  return ANY_URL.test(url) ? null : split(url, host);
}

function split(text: string, host: string | undefined): RequestTarget {
  const mark = text.indexOf('?');
  return mark === -1
    ? { path: text, query: '', host }
    : { path: text.slice(0, mark), query: text.slice(mark + 1), host };
}
