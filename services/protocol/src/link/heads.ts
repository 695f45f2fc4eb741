// From a head's text to a checked head. What a peer sends is unknown until this has spoken; afterwards it is not
// checked again. Members we do not know are left alone: a peer may be one version ahead (design §4 `hello`).

import type { Head } from './frames.ts';
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

/** One row per kind; the compiler asks for a new kind's row. */
const ROWS: { readonly [K in Head['kind']]: Row } = {
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
  open: [
    ['stream', stream],
    ['xid', text],
    ['method', text],
    ...caller,
    ['capabilities', object],
    ['downstreamEra', oneOf('legacy', 'modern')],
    ['logLevel', maybe(text)],
    ['progress', flag],
    ['deadlineMs', number],
    ['onVanish', oneOf('cancel', 'keep')],
    ['trace', maybe(object)],
    ['meta', maybe(text)],
    ['name', maybe(text)],
    ['incarnation', maybe(text)],
    ['state', maybe(text)],
    ['wait', maybe(flag)],
    ['fromSeq', maybe(count)],
    ['inputResponses', maybe(object)],
  ],
  started: [['stream', stream]],
  accepted: [['stream', stream]],
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
  close: [['stream', stream]],
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

/** Throws `WireFault` on anything that is not a head of this link. */
export function parseHead(json: string): Head {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new WireFault('bad-head', 'not JSON');
  }
  if (!object(value)) throw new WireFault('bad-head', 'not an object');
  const fields = value as Fields;
  const row = BY_KIND.get(fields.kind);
  if (row === undefined) throw new WireFault('unknown-kind', String(fields.kind).slice(0, 40));
  for (const [member, check] of row) {
    if (!check(fields[member])) throw new WireFault('bad-head', `${String(fields.kind)}.${member}`);
  }
  return value as Head;
}
