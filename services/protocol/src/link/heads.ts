// Heads to text and back, checked. What a peer sends is unknown until `parseHead` has spoken; afterwards it is not
// checked again. Members we do not know are left alone: a peer may be one version ahead (design §4 `hello`).
// Most heads are JSON objects. Those of every call are shorter, and told apart by their first character: `S` started,
// `A` accepted, `C` close, `R` a plain result, `O` open (open-head.ts).

import type { Head, Result } from './frames.ts';
import { openText, parseOpen } from './open-head.ts';
import { WireFault } from './wire-fault.ts';

type Fields = Record<string, unknown>;
type Check = (value: unknown) => boolean;

const text: Check = (v) => typeof v === 'string';
const flag: Check = (v) => typeof v === 'boolean';
const count: Check = (v) => Number.isSafeInteger(v) && (v as number) >= 0;
const number: Check = (v) => typeof v === 'number';
const object: Check = (v) => typeof v === 'object' && v !== null && !Array.isArray(v);
const texts: Check = (v) => Array.isArray(v) && v.every(text);
const maybe =
  (check: Check): Check =>
  (v) =>
    v === undefined || check(v);
const orNull =
  (check: Check): Check =>
  (v) =>
    v === null || check(v);
const oneOf =
  (...values: readonly string[]): Check =>
  (v) =>
    values.includes(v as string);

const stream: Check = (v) => Number.isInteger(v) && (v as number) > 0 && (v as number) <= 0xffff_ffff;

const principal: Check = (v) => {
  if (!object(v)) return false;
  const p = v as Fields;
  return text(p.tenant) && text(p.issuer) && text(p.subject) && orNull(text)(p.client);
};

const filter: Check = (v) => {
  if (!object(v)) return false;
  const f = v as Fields;
  return (
    flag(f.tools) && flag(f.prompts) && flag(f.resources) && texts(f.uris) && texts(f.taskIds) && maybe(text)(f.log)
  );
};

type Row = readonly (readonly [member: string, check: Check])[];

const caller: Row = [
  ['server', text],
  ['digest', text],
  ['principal', principal],
  ['session', orNull(text)],
];

type Short = 'open' | 'started' | 'accepted' | 'close';

/** One row per kind; the compiler asks for a new kind's row. */
const ROWS: { readonly [K in Exclude<Head['kind'], Short>]: Row } = {
  hello: [
    ['version', number],
    ['role', oneOf('gateway', 'pool-manager')],
    ['id', text],
    ['incarnation', text],
    ['lane', oneOf('small', 'bulk')],
    ['pair', text],
    ['nonce', text],
    ['proof', maybe(text)],
  ],
  event: [
    ['stream', stream],
    ['seq', count],
    ['method', text],
  ],
  result: [
    ['stream', stream],
    ['seq', count],
    ['resultType', text],
    ['meta', maybe(text)],
    ['state', maybe(text)],
    ['origin', maybe(object)],
  ],
  error: [
    ['stream', stream],
    ['seq', count],
    ['reason', text],
    ['code', number],
    ['message', text],
    ['data', maybe(text)],
    ['legacyCode', maybe(number)],
    ['node', maybe(text)],
    ['retryAfterMs', maybe(number)],
    ['mayHaveRun', flag],
  ],
  cancel: [
    ['xid', text],
    ['principal', principal],
    ['session', orNull(text)],
    ['reason', maybe(text)],
  ],
  listen: [['stream', stream], ...caller, ['capabilities', object], ['filter', filter]],
  notify: [...caller, ['method', oneOf('notifications/roots/list_changed')]],
  credit: [
    ['stream', count],
    ['bytes', count],
    ['advance', maybe(flag)],
  ],
  node: [
    ['incarnation', text],
    ['draining', flag],
  ],
  ping: [
    ['n', count],
    ['reply', flag],
  ],
};

const BY_KIND: ReadonlyMap<unknown, Row> = new Map(Object.entries(ROWS));

export function headText(head: Head): string {
  switch (head.kind) {
    case 'open':
      return `O${openText(head)}`;
    case 'started':
      return 'S';
    case 'accepted':
      return 'A';
    case 'close':
      return 'C';
    case 'result':
      return head.resultType === 'complete' && plain(head) ? `R${head.seq}` : JSON.stringify(head);
    default:
      return JSON.stringify(head);
  }
}

/** A result with none of these is short. A new member of `Result` must be named here before this compiles again. */
type Extra = keyof Omit<Result, 'kind' | 'stream' | 'seq' | 'resultType'>;
const EXTRA: { readonly [M in Extra]-?: true } = { meta: true, state: true, origin: true };
void EXTRA;

function plain({ meta, state, origin }: Result): boolean {
  return meta === undefined && state === undefined && origin === undefined;
}

/** `of` is the frame's stream. Throws `WireFault` on anything that is not a head of this link. */
export function parseHead(head: string, of: number): Head {
  switch (head.charCodeAt(0)) {
    case 0x7b: // {
      return parseLong(head);
    case 0x53: // S
      return { kind: 'started', stream: of };
    case 0x41: // A
      return { kind: 'accepted', stream: of };
    case 0x43: // C
      return { kind: 'close', stream: of };
    case 0x52: {
      // R
      const seq = Number(head.slice(1));
      if (!count(seq)) throw new WireFault('bad-head', 'result.seq');
      return { kind: 'result', stream: of, seq, resultType: 'complete' };
    }
    case 0x4f: // O
      return parseOpen(parseJson(head.slice(1)), of);
    default:
      throw new WireFault('unknown-kind', head.slice(0, 1));
  }
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new WireFault('bad-head', 'not JSON');
  }
}

function parseLong(json: string): Head {
  const fields = parseJson(json) as Fields;
  const row = BY_KIND.get(fields.kind);
  if (row === undefined) throw new WireFault('unknown-kind', String(fields.kind).slice(0, 40));
  for (const [member, check] of row) {
    if (!check(fields[member])) throw new WireFault('bad-head', `${String(fields.kind)}.${member}`);
  }
  return fields as unknown as Head;
}
