// A legacy server, presented as a modern one (protocol.md §5.2): what it cannot be asked is answered here, what it
// answers is given the fields a modern caller needs. Its own requests go to legacy/requests.ts.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { concat } from '@lockkeeper/protocol/json/compose';
import { findMember, itemsOf, type Member, scan } from '@lockkeeper/protocol/json/scan';
import { METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY } from '@lockkeeper/protocol/jsonrpc/codes';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { ServerCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { type LogLevel, passesLevel, TASKS_EXTENSION } from '@lockkeeper/protocol/mcp/meta';
import { LEGACY_METHODS } from '@lockkeeper/protocol/mcp/methods';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import { atLeast } from '@lockkeeper/protocol/mcp/revision';
import { seedOf } from '../../tasks/legacy-task.ts';
import type { TaskTools } from '../../tasks/task-tools.ts';
import { withoutAnswers } from '../answers.ts';
import { commonMeta } from '../envelope.ts';
import { type Caching, cachingMembers, cachingOf, isCaching } from '../result/caching.ts';
import { breach, complete, fault, type Outcome } from '../result/outcome.ts';
import { isEnvelope, keep, vendorMeta, withMembers } from '../result/split.ts';
import { notFound, readError, relayed } from '../result/upstream-error.ts';
import type { Judged, Room, Speaker } from '../speaker.ts';
import type { Response } from '../wire/message.ts';
import { smallParams, type Wire } from '../wire/wire.ts';
import type { Asked } from './requests.ts';
import { visitsOf } from './visits.ts';

export interface LegacyDeps {
  readonly wire: Wire;
  readonly spec: ServerSpec;
  readonly profile: Profile;
  readonly fingerprint: string;
  readonly listTtlMs: number;
  readonly asked: Asked;
  readonly taskTools: TaskTools;
}

export class LegacySpeaker implements Speaker {
  readonly taints = true;
  readonly fingerprint: string;
  readonly caching: Caching;
  private readonly deps: LegacyDeps;
  private readonly capabilities: ServerCapabilities;
  private readonly relaysLogs: boolean;
  private level: LogLevel | null = null;
  private levelId = 0;

  constructor(deps: LegacyDeps) {
    this.deps = deps;
    this.fingerprint = deps.fingerprint;
    this.caching = { ttlMs: deps.listTtlMs, cacheScope: 'private' };
    this.capabilities = deps.profile.capabilities;
    const logs = this.capabilities.logging !== undefined;
    this.relaysLogs = logs && deps.spec.isolation !== 'shared';
    // Nobody's logs: a quiet process is told to keep them to itself (protocol.md §5.0).
    if (logs && !this.relaysLogs) this.setLevel('error');
  }

  profile(): Profile {
    return this.deps.profile;
  }

  local(head: Open): Outcome | null {
    if (head.method === 'server/discover') return complete(this.discovered());
    if (head.method === 'ping' || head.method === 'logging/setLevel') return complete('');
    if (head.state !== undefined || head.wait === true) {
      return fault('unknown-exchange', 'nothing waits here under this state', { mayHaveRun: false });
    }
    if (!this.offers(head.method)) return notOffered(head.method);
    return this.needsTask(head) && head.downstreamEra === 'modern' && head.task === undefined ? NEEDS_TASKS : null;
  }

  before(head: Open, room: Room): void {
    const wanted = head.logLevel;
    if (!this.relaysLogs || wanted === undefined || wanted === this.level) return;
    // Several calls run: the level serves the one that wants most (protocol.md §5.4); each filters for itself.
    if (room.open > 1 && this.level !== null && passesLevel(wanted, this.level)) return;
    this.setLevel(wanted);
  }

  meta(head: Open, id: number): string {
    return commonMeta(head, id);
  }

  params(head: Open, params: Uint8Array): Uint8Array {
    // Answers without a state: the server asked nothing, so they go nowhere (protocol.md §2.8 #12a).
    const members = withoutAnswers(params);
    if (this.augments(head)) return withMembers(members, `"task":{"ttl":${head.task?.ttlMs ?? TASK_TTL_MS}}`);
    if (head.method !== 'completion/complete' || atLeast(this.deps.profile.revision, '2025-06-18')) return members;
    const object = concat(['{', members, '}']);
    return keep(object, scan(object).members, (key) => key === 'context');
  }

  judge(head: Open, line: Uint8Array, response: Response): Judged {
    if (response.error !== undefined) {
      const error = readError(line, response.error);
      return { kind: 'outcome', outcome: visitsOf(head, error) ?? relayed(head, error) };
    }
    if (response.result?.kind !== 'object') return { kind: 'outcome', outcome: breach('the result is not an object') };
    const seed = this.augments(head) ? seedOf(line, response.resultMembers) : null;
    return seed === null ? { kind: 'complete' } : { kind: 'task', seed };
  }

  finish(head: Open, line: Uint8Array, members: readonly Member[]): Outcome {
    const meta = vendorMeta(line, members);
    if (head.method !== 'resources/read') return complete(keep(line, members, isEnvelope), meta);
    const contents = findMember(members, 'contents');
    if (contents?.kind === 'array' && itemsOf(line, contents).length === 0) {
      return notFound(head.name, 'Resource not found');
    }
    const caching = cachingOf(line, members, { ttlMs: 0, cacheScope: 'private' });
    const rest = keep(line, members, (key) => isEnvelope(key) || isCaching(key));
    return complete(withMembers(rest, cachingMembers(caching)), meta);
  }

  /** A pipe says nothing of whose a message is: only the sole open call can own it (protocol.md §5.2). */
  logOwner<T extends { readonly head: Open }>(open: ReadonlySet<T>): T | null {
    if (!this.relaysLogs || open.size !== 1) return null;
    for (const call of open) return call;
    return null;
  }

  request(line: Uint8Array, id: string, method: string, params: Member | undefined, room: Room): void {
    this.deps.asked.request(line, id, method, params, room);
  }

  notification(line: Uint8Array, method: string, params: Member | undefined): void {
    switch (method) {
      case 'notifications/cancelled':
        this.deps.asked.withdrawn(JSON.stringify(smallParams(line, params).requestId ?? null));
        return;
      case 'notifications/elicitation/complete': {
        const { elicitationId } = smallParams(line, params);
        if (typeof elicitationId === 'string') this.deps.asked.completed(elicitationId);
        return;
      }
      case 'notifications/tasks/status':
        // Never relied upon: tasks/get says the same (protocol.md §1.3).
        return;
      default:
        this.deps.wire.count(`notification ${method.slice(0, 60)}`);
    }
  }

  toolsChanged(): void {
    void this.deps.taskTools.load();
  }

  private needsTask({ method, name }: Open): boolean {
    return method === 'tools/call' && this.deps.taskTools.supportOf(name ?? '') === 'required';
  }

  /**
   * Sent with a wish for a task (protocol.md §5.2 "tasks"): where the tool must have one, and where it can and the
   * caller takes one.
   */
  private augments(head: Open): boolean {
    if (head.method !== 'tools/call') return false;
    const support = this.deps.taskTools.supportOf(head.name ?? '');
    return support === 'required' || (support === 'optional' && head.task !== undefined);
  }

  /** Only what the server declared is used (protocol.md §1.9); completion had no capability in 2024-11-05. */
  private offers(method: string): boolean {
    const facts = LEGACY_METHODS.get(method);
    if (facts === undefined || !atLeast(this.deps.profile.revision, facts.since)) return false;
    const { capability } = facts;
    if (method === 'initialize' || capability === undefined || capability === 'tasks') return false;
    if (method === 'resources/subscribe' || method === 'resources/unsubscribe') {
      return this.capabilities.resources?.subscribe === true;
    }
    if (capability === 'completions' && this.deps.profile.revision === '2024-11-05') return true;
    return this.capabilities[capability] !== undefined;
  }

  private setLevel(level: LogLevel): void {
    const { wire } = this.deps;
    wire.abandon(this.levelId, null);
    this.level = level;
    const nobody = { answered: () => {}, spoiled: () => {}, lost: () => {} };
    this.levelId = wire.request('logging/setLevel', () => '', Buffer.from(`"level":"${level}"`), nobody);
  }

  /** A discover result as the link carries it, plus what only the gateway reads. */
  private discovered(): string {
    const { profile } = this.deps;
    // Tasks are not bridged, and logs only relayed where they can be somebody's (protocol.md §5.2 "capability map").
    const { tasks: _tasks, logging, ...capabilities } = profile.capabilities;
    const shown = this.relaysLogs ? { ...capabilities, logging } : capabilities;
    const instructions =
      profile.instructions === undefined ? '' : `,"instructions":${JSON.stringify(profile.instructions)}`;
    return `"supportedVersions":${JSON.stringify(profile.supported)},"capabilities":${JSON.stringify(shown)}${instructions},${cachingMembers(this.caching)},"lk/era":"legacy","lk/revision":${JSON.stringify(profile.revision)}`;
  }
}

/** For callers that wait for the answer without a task of their own. */
const TASK_TTL_MS = 3_600_000;

/** Design ruling 9: certain before anything has run. */
const NEEDS_TASKS = fault('capability', 'This tool runs as a task only.', {
  code: MISSING_CLIENT_CAPABILITY,
  data: JSON.stringify({ requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } }),
  mayHaveRun: false,
});

function notOffered(method: string): Outcome {
  return fault('upstream', `the server does not offer ${method}`, {
    legacyCode: METHOD_NOT_FOUND,
    mayHaveRun: false,
  });
}
