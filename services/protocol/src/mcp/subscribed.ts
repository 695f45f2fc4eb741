// Which subscription an `updated` belongs to (protocol.md §5.2): the very URI, else one of whose resource it names a
// part. Pure.

/** `part` is `whole`, or lies under it: `file:///a/b` under `file:///a`, never `file:///ab`. */
export function within(part: string, whole: string): boolean {
  if (part === whole) return true;
  if (whole === '' || !part.startsWith(whole)) return false;
  return /[/?#]$/.test(whole) || /^[/?#]/.test(part.slice(whole.length));
}

/** The subscribed URI that an update of `uri` is for: exact, else the longest prefix; undefined when there is none. */
export function subscribedBy(uri: string, subscribed: ReadonlySet<string>): string | undefined {
  if (subscribed.has(uri)) return uri;
  let found: string | undefined;
  for (const whole of subscribed) {
    if (within(uri, whole) && (found === undefined || whole.length > found.length)) found = whole;
  }
  return found;
}
