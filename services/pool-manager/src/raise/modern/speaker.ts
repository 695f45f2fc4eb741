// A modern server (protocol.md §5.1): a full envelope on every request, no handshake, results passed on when they are
// what the revision allows. Its own requests are a breach and stay unanswered.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Member } from '@lockkeeper/protocol/json/scan';
import {
  HEADER_MISMATCH,
  INTERNAL_ERROR,
  METHOD_NOT_FOUND,
  MISSING_CLIENT_CAPABILITY,
  UNSUPPORTED_REVISION,
} from '@lockkeeper/protocol/jsonrpc/codes';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities, Implementation, ServerCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { missing } from '@lockkeeper/protocol/mcp/fingerprint';
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  LOG_LEVEL,
  PROTOCOL_VERSION,
  TASKS_EXTENSION,
} from '@lockkeeper/protocol/mcp/meta';
import { MODERN_METHODS } from '@lockkeeper/protocol/mcp/methods';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import { MODERN } from '@lockkeeper/protocol/mcp/revision';
import type { Clock } from '@lockkeeper/state/clock';
import { carried } from '../carry.ts';
import { commonMeta } from '../envelope.ts';
import { type Caching, cachingMembers, cachingOf, isCaching } from '../result/caching.ts';
import { breach, complete, fault, type Outcome } from '../result/outcome.ts';
import { isEnvelope, keep, resultTypeOf, vendorMeta, withMembers } from '../result/split.ts';
import { dataOf, readError, relayed, type UpstreamError } from '../result/upstream-error.ts';
import type { Judged, Speaker } from '../speaker.ts';
import type { Response } from '../wire/message.ts';
import type { Wire } from '../wire/wire.ts';
import { commonRevision, profileOf } from './discover.ts';
import { givenUp, inputRequired, stateMember } from './rounds.ts';

export interface ModernDeps {
  readonly wire: Wire;
  readonly spec: ServerSpec;
  readonly profile: Profile;
  readonly clientInfo: Implementation;
  readonly asks: boolean;
  readonly clock: Clock;
  /** Over HTTP: the headers that mirror a call's arguments are made from the tool list, which may have become stale. */
  readonly refreshTools?: () => Promise<void>;
  /** It behaves as if the verdict were wrong: the next start probes again. */
  contradicted(words: string): void;
}

export class ModernSpeaker implements Speaker {
  readonly fingerprint = '';
  readonly taints = false;
  readonly caching: Caching = { ttlMs: 0, cacheScope: 'private' };
  private readonly deps: ModernDeps;
  private readonly prefix: string;
  private known: Profile;
  private discovered: { readonly outcome: Outcome; readonly until: number } | null = null;

  constructor(deps: ModernDeps) {
    this.deps = deps;
    this.known = deps.profile;
    const info = JSON.stringify(deps.clientInfo);
    this.prefix = `"${PROTOCOL_VERSION}":"${deps.profile.revision}","${CLIENT_INFO}":${info},"${CLIENT_CAPABILITIES}":`;
  }

  profile(): Profile {
    return this.known;
  }

  local(head: Open, params: Uint8Array): Outcome | null {
    if (head.method === 'server/discover') return this.remembered();
    if (head.method === 'ping' || head.method === 'logging/setLevel') return complete('');
    if (head.method === 'resources/subscribe' || head.method === 'resources/unsubscribe') {
      // Delivery is a listen's; there is nothing to send (protocol.md §1.2).
      return this.known.capabilities.resources?.subscribe === true ? complete('') : notOffered(head.method);
    }
    if (head.wait === true) return fault('unknown-exchange', 'nothing waits here', { mayHaveRun: false });
    return this.offers(head.method) ? givenUp(head, params) : notOffered(head.method);
  }

  before(): void {}

  meta(head: Open, id: number): string {
    const level = this.relaysLogs() && head.logLevel !== undefined ? `,"${LOG_LEVEL}":"${head.logLevel}"` : '';
    return `${this.prefix}${JSON.stringify(this.declared(head))}${level},${commonMeta(head, id)}`;
  }

  params(head: Open, members: Uint8Array): Uint8Array {
    return withMembers(members, stateMember(head));
  }

  judge(head: Open, line: Uint8Array, response: Response): Judged {
    if (response.error !== undefined) return this.refused(head, readError(line, response.error));
    if (response.result?.kind !== 'object') return outcome(breach('the result is not an object'));
    const type = resultTypeOf(line, response.resultMembers);
    // An older server leaves it out (protocol.md Part 7 #10); anything unknown is invalid, never complete (GB-057).
    if (type.kind === 'absent') return { kind: 'complete' };
    if (type.kind === 'invalid') return outcome(breach(`resultType is ${type.text}, not a string`));
    if (type.name === 'complete') return { kind: 'complete' };
    if (type.name === 'task' && head.task !== undefined) {
      // Of tasks/get some servers say so too; it is the answer all the same (protocol.md Part 7 #24).
      if (head.method === 'tasks/get') return { kind: 'complete' };
      if (head.method === 'tools/call') return outcome(tasked(line, response.resultMembers));
    }
    if (type.name !== 'input_required')
      return outcome(breach(`resultType "${type.name.slice(0, 40)}" was not negotiated`));
    return outcome(inputRequired(head, this.declared(head), line, response.resultMembers));
  }

  finish(head: Open, line: Uint8Array, members: readonly Member[]): Outcome {
    const meta = vendorMeta(line, members);
    if (MODERN_METHODS.get(head.method)?.cacheable !== true) return complete(keep(line, members, isEnvelope), meta);
    const caching = cachingOf(line, members, this.caching);
    const rest = keep(line, members, (key) => isEnvelope(key) || isCaching(key) || key.startsWith('lk/'));
    if (head.method !== 'server/discover') return complete(withMembers(rest, cachingMembers(caching)), meta);
    return this.remember(line, members, rest, caching);
  }

  /** Only calls that asked for logs get any; one of them alone is certain (protocol.md §5.1 "logging"). */
  logOwner<T extends { readonly head: Open }>(open: ReadonlySet<T>): T | null {
    if (!this.relaysLogs()) return null;
    let owner: T | null = null;
    for (const call of open) {
      if (call.head.logLevel === undefined) continue;
      if (owner !== null) return null;
      owner = call;
    }
    return owner;
  }

  /** 26/stdio: the server MUST NOT send requests, and we MUST NOT write responses. */
  request(_line: Uint8Array, _id: string, method: string): void {
    this.deps.wire.count(`request ${method.slice(0, 60)} from a modern server`);
  }

  notification(_line: Uint8Array, method: string): void {
    this.deps.wire.count(`notification ${method.slice(0, 60)}`);
  }

  private declared(head: Open): ClientCapabilities {
    const declared = carried(head.capabilities, this.deps.spec, MODERN, this.deps.asks);
    if (head.task === undefined) return declared;
    return { ...declared, extensions: { ...declared.extensions, [TASKS_EXTENSION]: {} } };
  }

  private relaysLogs(): boolean {
    return this.deps.spec.isolation !== 'shared' && this.known.capabilities.logging !== undefined;
  }

  private offers(method: string): boolean {
    const facts = MODERN_METHODS.get(method);
    if (facts === undefined || method === 'subscriptions/listen') return false;
    // The node asks only about tasks that this very server has made.
    if (facts.capability === 'tasks') return true;
    return facts.capability === undefined || this.known.capabilities[facts.capability] !== undefined;
  }

  private refused(head: Open, error: UpstreamError): Judged {
    switch (error.code) {
      case UNSUPPORTED_REVISION: {
        if (commonRevision(dataOf(error)?.supported) !== undefined) return { kind: 'again' };
        this.deps.contradicted('-32022 to a request');
        return outcome(fault('upstream', error.message));
      }
      case HEADER_MISMATCH:
        // It judged the headers before anything ran (protocol.md Part 7 #43).
        if (head.method !== 'tools/call' || this.deps.refreshTools === undefined) return outcome(relayed(head, error));
        return { kind: 'again', after: this.deps.refreshTools() };
      case MISSING_CLIENT_CAPABILITY:
        return outcome(lacking(head, error));
      case METHOD_NOT_FOUND:
        // Declared, and yet not there: what we know of it is stale (protocol.md §5.1 "-32601").
        this.discovered = null;
        return outcome(fault('upstream', error.message, { legacyCode: METHOD_NOT_FOUND }));
      default:
        return outcome(relayed(head, error));
    }
  }

  private remembered(): Outcome | null {
    return this.discovered !== null && this.deps.clock.now() < this.discovered.until ? this.discovered.outcome : null;
  }

  /** The discover result, re-written only where it declares what is not carried. */
  private shown(line: Uint8Array, members: readonly Member[], rest: Uint8Array): Uint8Array {
    const { capabilities } = this.known;
    const hidden =
      (capabilities.logging !== undefined && !this.relaysLogs()) || TASKS_EXTENSION in (capabilities.extensions ?? {});
    if (!hidden) return rest;
    const drop = (key: string) => isEnvelope(key) || isCaching(key) || key.startsWith('lk/') || key === 'capabilities';
    return withMembers(
      keep(line, members, drop),
      `"capabilities":${JSON.stringify(carriedOnly(capabilities, this.relaysLogs()))}`,
    );
  }

  private remember(line: Uint8Array, members: readonly Member[], rest: Uint8Array, caching: Caching): Outcome {
    const now = this.deps.clock.now();
    const supported = profileOf(line, members, this.known.revision, this.known.supported, now);
    this.known = { ...supported, foundAt: this.known.foundAt, evidence: this.known.evidence };
    const more = `${cachingMembers(caching)},"lk/era":"modern","lk/revision":"${this.known.revision}"`;
    const outcome = complete(withMembers(this.shown(line, members, rest), more));
    this.discovered = { outcome, until: now + caching.ttlMs };
    return outcome;
  }
}

/** What is declared and cannot be carried: logs of a shared process, tasks (design §5, protocol.md §5.1). */
function carriedOnly(declared: ServerCapabilities, logs: boolean): ServerCapabilities {
  const { logging, extensions, ...rest } = declared;
  const { [TASKS_EXTENSION]: _tasks, ...others } = extensions ?? {};
  return {
    ...rest,
    ...(logs && logging !== undefined ? { logging } : {}),
    ...(Object.keys(others).length > 0 ? { extensions: others } : {}),
  };
}

/** A task of the server's own: whoever keeps tasks reads it. */
function tasked(line: Uint8Array, members: readonly Member[]): Outcome {
  const meta = vendorMeta(line, members);
  const head = meta === undefined ? { resultType: 'task' } : { resultType: 'task', meta };
  return { kind: 'result', head, members: keep(line, members, isEnvelope) };
}

function outcome(value: Outcome): Judged {
  return { kind: 'outcome', outcome: value };
}

/** -32021: the caller's lack is the caller's to hear; what we held back ourselves is not (protocol.md §5.1). */
function lacking(head: Open, error: UpstreamError): Outcome {
  const data = dataOf(error);
  const required = data?.requiredCapabilities;
  if (typeof required !== 'object' || required === null) return fault('upstream', error.message);
  if (missing(head.capabilities, required as ClientCapabilities) === null) {
    return fault('upstream', `${error.message} (Lockkeeper does not carry this capability to this server)`);
  }
  const shown = JSON.stringify({ requiredCapabilities: required });
  return fault('capability', error.message, { code: MISSING_CLIENT_CAPABILITY, data: shown, mayHaveRun: false });
}

function notOffered(method: string): Outcome {
  return fault('upstream', `the server does not offer ${method}`, {
    code: INTERNAL_ERROR,
    legacyCode: METHOD_NOT_FOUND,
    mayHaveRun: false,
  });
}
