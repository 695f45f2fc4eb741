// What an Accept header allows of the two forms we can answer in (protocol.md §2.1 #6). Liberal: only a header that
// shuts both out is a reason to refuse (GB-147).

export interface Accepts {
  readonly json: boolean;
  readonly sse: boolean;
}

const BOTH: Accepts = { json: true, sse: true };
const KNOWN_CAP = 256;
const known = new Map<string, Accepts>();

/** Clients send one of a handful of texts; each is read once. */
export function readAccept(header: string | undefined): Accepts {
  if (header === undefined || header.trim() === '') return BOTH;
  const seen = known.get(header);
  if (seen !== undefined) return seen;
  const accepts = parse(header);
  if (known.size < KNOWN_CAP && header.length <= 256) known.set(header, accepts);
  return accepts;
}

function parse(header: string): Accepts {
  let json = false;
  let sse = false;
  for (const part of header.toLowerCase().split(',')) {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim());
    if (parameters.some((p) => /^q=0(\.0*)?$/.test(p))) continue;
    if (range === '*/*' || range === 'application/*' || range === 'application/json') json = true;
    if (range === '*/*' || range === 'text/*' || range === 'text/event-stream') sse = true;
  }
  return { json, sse };
}
