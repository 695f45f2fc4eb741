// The head of `open`, the one long head of every call: a JSON array by position, which is half the work of an object.
// New positions may be added at the end. What few calls have stands together in the last object.

import type { ClientCapabilities } from '../mcp/capabilities.ts';
import type { Open } from './frames.ts';
import { WireFault } from './wire-fault.ts';

type Rare = Pick<Open, 'logLevel' | 'trace' | 'meta' | 'incarnation' | 'state' | 'wait' | 'fromSeq' | 'task'>;

type Rest = Omit<Open, keyof Rare | 'kind' | 'stream'>;
/** A new member of `Open` must find its place below before this compiles again. */
const CARRIED: { readonly [M in keyof Required<Rest>]: true } = {
  xid: true,
  method: true,
  server: true,
  digest: true,
  principal: true,
  session: true,
  name: true,
  downstreamEra: true,
  onVanish: true,
  progress: true,
  deadlineMs: true,
  capabilities: true,
};
void CARRIED;

export function openText(head: Open): string {
  const { principal } = head;
  return JSON.stringify([
    head.xid,
    head.method,
    head.server,
    head.digest,
    principal.tenant,
    principal.issuer,
    principal.subject,
    principal.client,
    head.session,
    head.name,
    head.downstreamEra,
    head.onVanish,
    head.progress,
    head.deadlineMs,
    head.capabilities,
    rareOf(head),
  ]);
}

/** Undefined becomes null: the common case is short. */
function rareOf(head: Open): Rare | undefined {
  const { logLevel, trace, meta, incarnation, state, wait, fromSeq, task } = head;
  const none =
    logLevel === undefined &&
    trace === undefined &&
    meta === undefined &&
    incarnation === undefined &&
    state === undefined &&
    wait === undefined &&
    fromSeq === undefined &&
    task === undefined;
  // Members that are undefined do not come out of JSON.stringify.
  return none ? undefined : ({ logLevel, trace, meta, incarnation, state, wait, fromSeq, task } as Rare);
}

export function parseOpen(value: unknown, stream: number): Open {
  if (!Array.isArray(value)) throw new WireFault('bad-head', 'open');
  const [xid, method, server, digest, tenant, issuer, subject, client] = value as unknown[];
  const [session, name, downstreamEra, onVanish, progress, deadlineMs, capabilities, rare] = value.slice(
    8,
  ) as unknown[];
  const texts =
    typeof xid === 'string' &&
    typeof method === 'string' &&
    typeof server === 'string' &&
    typeof digest === 'string' &&
    typeof tenant === 'string' &&
    typeof issuer === 'string' &&
    typeof subject === 'string';
  if (!texts || !textOrNull(client) || !textOrNull(session) || !textOrNull(name)) throw bad('texts');
  if (downstreamEra !== 'legacy' && downstreamEra !== 'modern') throw bad('downstreamEra');
  if (onVanish !== 'cancel' && onVanish !== 'keep') throw bad('onVanish');
  if (typeof progress !== 'boolean' || typeof deadlineMs !== 'number') throw bad('progress or deadlineMs');
  if (!object(capabilities)) throw bad('capabilities');
  const open: Open = {
    kind: 'open',
    stream,
    xid,
    method,
    server,
    digest,
    principal: { tenant, issuer, subject, client },
    session,
    capabilities: capabilities as ClientCapabilities,
    downstreamEra,
    progress,
    deadlineMs,
    onVanish,
    ...(name !== null && { name }),
  };
  return rare === null || rare === undefined ? open : { ...open, ...parseRare(rare) };
}

function parseRare(value: unknown): Rare {
  if (!object(value)) throw bad('rare');
  const { logLevel, trace, meta, incarnation, state, wait, fromSeq, task } = value;
  const fine =
    maybeText(logLevel) &&
    maybeText(meta) &&
    maybeText(incarnation) &&
    maybeText(state) &&
    (trace === undefined || object(trace)) &&
    (wait === undefined || typeof wait === 'boolean') &&
    (fromSeq === undefined || (Number.isSafeInteger(fromSeq) && (fromSeq as number) >= 0)) &&
    (task === undefined || offer(task));
  if (!fine) throw bad('rare');
  return pick(value as unknown as Rare);
}

/** The members of that name that are there, and no other. */
function pick(from: Rare): Rare {
  const { logLevel, trace, meta, incarnation, state, wait, fromSeq, task } = from;
  return {
    ...(logLevel !== undefined && { logLevel }),
    ...(trace !== undefined && { trace }),
    ...(meta !== undefined && { meta }),
    ...(incarnation !== undefined && { incarnation }),
    ...(state !== undefined && { state }),
    ...(wait !== undefined && { wait }),
    ...(fromSeq !== undefined && { fromSeq }),
    ...(task !== undefined && { task }),
  };
}

function offer(value: unknown): boolean {
  if (!object(value)) return false;
  const { id, promoteAfterMs, ttlMs } = value;
  const promotes = promoteAfterMs === null || typeof promoteAfterMs === 'number';
  return typeof id === 'string' && promotes && typeof ttlMs === 'number';
}

function bad(what: string): WireFault {
  return new WireFault('bad-head', `open.${what}`);
}

function textOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

function maybeText(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

function object(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
