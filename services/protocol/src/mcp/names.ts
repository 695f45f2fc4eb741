// Names in an aggregate (design §7, protocol.md §5.7). Tools and prompts: `<server>__<name>`, at most 64 characters,
// else cut and hashed; they are resolved by table, never by splitting. Resource URIs keep their scheme and get a
// fragment suffix that any cold replica can read back.

const MAX_NAME = 64;
const MARK = 'lk.';
/** What every model API takes in a tool name (GB-124). */
const SAFE = /^[A-Za-z0-9_-]*$/;
const UNSAFE = /[^A-Za-z0-9_-]/gu;
const HASH_LENGTH = 8;

/**
 * A function of its two arguments alone, so that no name changes when another server joins (GB-127). Names that are
 * too long, hold other characters, or could be read as another server's get a hash of the true pair.
 */
export function aggregateName(server: string, name: string): string {
  const whole = `${server}__${name}`;
  const ambiguous = server.includes('__') || server.endsWith('_');
  if (whole.length <= MAX_NAME && !ambiguous && SAFE.test(whole)) return whole;
  return `${whole.replace(UNSAFE, '_').slice(0, MAX_NAME - HASH_LENGTH - 1)}_${hash8(`${server}\n${name}`)}`;
}

/** How every name that `aggregateName` makes for a server begins, cut or not: whose table to look into, no more. */
export function aggregatePrefix(server: string): string {
  return `${server}__`.replace(UNSAFE, '_').slice(0, MAX_NAME - HASH_LENGTH - 1);
}

/** Appends `#lk.<server>`, or `&lk.<server>` where the URI has a fragment already. */
export function suffixUri(uri: string, server: string): string {
  return `${uri}${uri.includes('#') ? '&' : '#'}${MARK}${server}`;
}

/** The way back of suffixUri; null when there is no suffix. Server names hold no `#` or `&` (configuration schema). */
export function splitUri(uri: string): { readonly uri: string; readonly server: string } | null {
  const at = Math.max(uri.lastIndexOf(`#${MARK}`), uri.lastIndexOf(`&${MARK}`));
  if (at < 0) return null;
  const server = uri.slice(at + 1 + MARK.length);
  if (server === '' || /[#&]/.test(server)) return null;
  if (uri[at] === '&' && !uri.slice(0, at).includes('#')) return null;
  return { uri: uri.slice(0, at), server };
}

/** Eight base-36 characters of two FNV-1a runs: only to tell long names apart; the table resolves collisions. */
function hash8(text: string): string {
  return (fnv(text, 0x811c9dc5).toString(36) + fnv(text, 0x01000193).toString(36))
    .padStart(HASH_LENGTH, '0')
    .slice(0, HASH_LENGTH);
}

function fnv(text: string, seed: number): number {
  let h = seed;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}
