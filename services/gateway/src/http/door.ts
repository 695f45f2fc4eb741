// What the walk says when it ends early: unknown paths, metadata, preflights, challenges, refusals of a body. Renders
// and records; the order of the walk is endpoint.ts.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConfigSource, Snapshot } from '@lockkeeper/protocol/config/settings';
import { HEADER } from '@lockkeeper/protocol/mcp/headers';
import { isLegacyRevision } from '@lockkeeper/protocol/mcp/revision';
import type { Authentication, Authenticator } from '../auth/authenticate.ts';
import { challengeFor, refusalFor } from '../auth/challenge.ts';
import type { Refusal } from '../errors.ts';
import type { Authenticated } from '../exchange.ts';
import type { ModernLeg } from '../lower/modern.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Recorder } from '../observe/recorder.ts';
import type { Headers, HttpOut, LegacyLeg } from './contract.ts';
import type { Intake } from './intake.ts';
import type { Arrival, McpTarget, Received } from './receive.ts';
import { renderErrorText, retryHeaders, statusOf } from './refuse.ts';
import { createReply, type TrackedOut } from './reply.ts';
import type { Wheel } from './wheel.ts';

export interface EndpointDeps {
  readonly config: ConfigSource;
  readonly authenticator: Authenticator;
  readonly modern: ModernLeg;
  readonly legacy: LegacyLeg;
  readonly recorder: Recorder;
  readonly metrics: Metrics;
  readonly wheel: Wheel;
  readonly intake: Intake;
  /** Random, cluster-wide: the exchange id. */
  readonly newId: () => string;
  /** Monotonic ms. */
  readonly elapsed: () => number;
  readonly draining: () => boolean;
}

export interface Arrived extends Arrival {
  readonly xid: string;
  readonly snapshot: Snapshot;
  readonly arrivedAt: number;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export interface Answers {
  readonly deps: EndpointDeps;
  open(request: IncomingMessage, response: ServerResponse): Arrived;
  reply(arrived: Arrived, cors: Record<string, string>): TrackedOut;
  answerUnreceived(arrived: Arrived, received: Exclude<Received, { kind: 'received' }>): void;
  turnAway(arrived: Arrived, out: HttpOut, target: McpTarget, who: Exclude<Authentication, { kind: 'caller' }>): void;
  refuse(arrived: Arrived, out: HttpOut, ticket: Authenticated, refusal: Refusal, read?: ReadBody): Promise<void>;
}

/** What was read of the body that is refused. */
interface ReadBody {
  readonly bytes: number;
  readonly idText?: string | undefined;
}

const UNREADABLE_HOST: Readonly<Record<'two-hosts' | 'no-target', Refusal>> = {
  'two-hosts': { reason: 'invalid-request', message: 'The request has two Host headers.', next: 'Send one.' },
  'no-target': {
    reason: 'invalid-request',
    message: 'The request target is a URL that cannot be meant for this server.',
    next: 'Send the path, or an http or https URL without a user in it.',
  },
};

/** The same for every path that is none, and for a route of a tenant the token does not name (RS-4). */
const NOT_FOUND = '{"error":"not_found","message":"There is nothing at this path. Check the URL against the route."}';

export function createDoor(deps: EndpointDeps): Answers {
  return {
    deps,
    open: (request, response) => ({
      xid: deps.newId(),
      snapshot: deps.config.current(),
      arrivedAt: deps.elapsed(),
      url: request.url ?? '/',
      verb: request.method ?? '',
      headers: request.headers,
      localPort: request.socket.localPort,
      rawHeaders: request.rawHeaders,
      request,
      response,
    }),
    reply: (arrived, cors) => replyTo(deps, arrived, cors, arrived.xid),
    answerUnreceived: (arrived, received) => answerUnreceived(deps, arrived, received),
    turnAway: (arrived, out, target, who) => turnAway(deps, arrived, out, target, who),
    async refuse(arrived, out, ticket, refusal, read) {
      const status = statusOf(refusal);
      const id = read?.idText ?? (await unreadableId(deps, ticket, arrived.headers));
      out.json(status, renderErrorText(refusal, id, arrived.xid), retryHeaders(refusal));
      const { tenant, path: route } = ticket.route;
      const bytesIn = read?.bytes ?? 0;
      deps.recorder.turnedAway({ ...arrived, ticket, tenant, route, outcome: refusal.reason, status, bytesIn });
    },
  };
}

function replyTo(
  deps: EndpointDeps,
  arrived: Arrived,
  headers: Record<string, string>,
  exchange: string | null = null,
): TrackedOut {
  return createReply(arrived.request, arrived.response, {
    wheel: deps.wheel,
    keepAliveMs: arrived.snapshot.limits.keepAliveMs,
    headers,
    exchange,
    draining: deps.draining,
    onResponse: (status) => deps.metrics.httpResponse(arrived.verb, status),
    onStream: (change) => (change === 1 ? deps.metrics.streamOpened() : deps.metrics.streamClosed()),
  });
}

function answerUnreceived(
  deps: EndpointDeps,
  arrived: Arrived,
  received: Exclude<Received, { kind: 'received' }>,
): void {
  switch (received.kind) {
    case 'unknown-path':
      replyTo(deps, arrived, {}).json(404, NOT_FOUND);
      break;
    case 'unreadable-host':
      refuseUnread(deps, arrived, UNREADABLE_HOST[received.why]);
      break;
    case 'metadata':
      answerMetadata(replyTo(deps, arrived, {}), received.verb, received.body);
      break;
    case 'preflight':
      replyTo(deps, arrived, received.headers).empty(204);
      break;
    case 'refused':
      refuseAtDoor(deps, arrived, received);
  }
}

/** Where this request ends is not certain, nor that what follows it is another. */
function refuseUnread(deps: EndpointDeps, arrived: Arrived, refusal: Refusal): void {
  replyTo(deps, arrived, { connection: 'close' }).json(400, renderErrorText(refusal, undefined, arrived.xid));
}

function refuseAtDoor(
  deps: EndpointDeps,
  arrived: Arrived,
  { target, reason, headers }: Extract<Received, { kind: 'refused' }>,
): void {
  const out = replyTo(deps, arrived, headers, arrived.xid);
  const status = statusOf({ reason });
  out.json(status, renderErrorText({ reason }, undefined, arrived.xid));
  const { tenant, path: route } = target.place.route;
  deps.recorder.turnedAway({ ...arrived, tenant, route, outcome: reason, status });
}

/** RS-3: for every page, without credentials, cacheable. */
function answerMetadata(out: HttpOut, verb: 'GET' | 'OPTIONS', body: string): void {
  const open = { 'access-control-allow-origin': '*' };
  const allow = { 'access-control-allow-methods': 'GET', 'access-control-allow-headers': 'mcp-protocol-version' };
  if (verb === 'GET') out.json(200, body, { ...open, 'cache-control': 'public, max-age=300' });
  else out.empty(204, { ...open, ...allow, 'access-control-max-age': '600' });
}

function turnAway(
  deps: EndpointDeps,
  arrived: Arrived,
  out: HttpOut,
  target: McpTarget,
  who: Exclude<Authentication, { kind: 'caller' }>,
): void {
  const { route, scopes, mcp, sse } = target.place;
  const about = { ...arrived, tenant: route.tenant, route: route.path };
  if (who.kind === 'foreign') {
    deps.metrics.authRefused('foreign');
    out.json(404, NOT_FOUND);
    deps.recorder.turnedAway({ ...about, outcome: 'foreign', status: 404 });
    return;
  }
  const refusal = refusalFor(who.turned, who.retryAfterMs);
  const status = statusOf(refusal);
  const challenge = challengeFor(who.turned, (target.kind === 'mcp' ? mcp : sse).metadataUrl, scopes);
  deps.metrics.authRefused(who.turned);
  out.json(status, renderErrorText(refusal, undefined, arrived.xid), { ...challenge, ...retryHeaders(refusal) });
  deps.recorder.turnedAway({ ...about, outcome: who.turned, detail: who.why, status });
}

/** Part 7 #5: the error of an unreadable message has no id; revisions up to 2025-06-18 know only `null`. */
async function unreadableId(
  { legacy }: EndpointDeps,
  ticket: Authenticated,
  headers: Headers,
): Promise<string | undefined> {
  const version = headers[HEADER.version];
  if (version !== undefined) return typeof version === 'string' && isOld(version) ? 'null' : undefined;
  if (headers[HEADER.session] === undefined) return undefined;
  // Some clients of every revision leave it out. It came with 2025-06-18: without a session to ask, this one is older.
  const agreed = await legacy.revisionOf(ticket, headers);
  return agreed === null || isOld(agreed) ? 'null' : undefined;
}

function isOld(revision: string): boolean {
  return isLegacyRevision(revision) && revision !== '2025-11-25';
}
