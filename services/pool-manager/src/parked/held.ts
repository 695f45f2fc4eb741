// The asking side of one exchange: what its server wants to know goes into its parking, who joins it is told what is
// open, what comes back goes to the server or into the next call (design §4). Made at the first question; calls, leases,
// time and endings stay the exchange's own.

import { concat } from '@lockkeeper/protocol/json/compose';
import { findMember, membersOf, scan, stringOf } from '@lockkeeper/protocol/json/scan';
import { INVALID_PARAMS, MISSING_CLIENT_CAPABILITY } from '@lockkeeper/protocol/jsonrpc/codes';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { covers, projectCapabilities } from '@lockkeeper/protocol/mcp/fingerprint';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import { askedBy, capabilityFor } from '@lockkeeper/protocol/mcp/questions';
import { faultOf } from '../errors.ts';
import type { StreamReply } from '../link/contract.ts';
import type { AnswerEntry } from '../raise/answers.ts';
import { carried } from '../raise/carry.ts';
import type { FaultHead, Question, ResultHead, Visit } from '../raise/contract.ts';
import type { Audience, Listener } from './audience.ts';
import { Collecting, type Wanted } from './collecting.ts';
import type { Askable, Ended, Parked } from './contract.ts';
import type { FormSchema } from './form.ts';
import { type AskTerms, Parking, type ParkingHost } from './parking.ts';
import { settle } from './router.ts';
import { isWeb, screen } from './screen.ts';
import { Turn, type TurnHost } from './turn.ts';

/** What the asking side needs of its exchange. */
export interface HeldExchange extends Askable {
  /** The last request that started or continued it: its capabilities are the ones that count (protocol.md §2.8 #13). */
  readonly latest: Open;
  readonly body: Uint8Array;
  readonly audience: Audience;
  profile(): Profile;
  turnHost(): TurnHost;
  /** The next call upstream, on the same lease. */
  call(head: Open, body: Uint8Array): void;
  finish(ended: Ended): void;
  gaveUp(reason: 'timeout', words: string): void;
}

const PERMITTED: ClientCapabilities = {
  roots: {},
  sampling: { tools: {}, context: {} },
  elicitation: { form: {}, url: {} },
};
const BUSY_WORDS = 'Too many requests wait for their users';

export class Held implements ParkingHost {
  readonly parking: Parking;
  readonly lowered: boolean;
  wasUrlError = false;
  private readonly exchange: HeldExchange;
  private readonly parked: Parked;
  private readonly host: TurnHost;
  private readonly turn: Turn;
  private over = false;
  private collecting: Collecting | null = null;
  private visiting = false;
  private state: string | undefined;
  private lacks: ClientCapabilities | null = null;

  constructor(exchange: HeldExchange, parked: Parked, batonMs: number) {
    this.exchange = exchange;
    this.parked = parked;
    this.lowered = exchange.head.downstreamEra === 'legacy';
    this.parking = new Parking(this, parked.parking);
    this.host = exchange.turnHost();
    this.turn = new Turn(this.host, parked.parking.clock, batonMs);
  }

  get xid(): string {
    return this.exchange.head.xid;
  }

  get audience(): Audience {
    return this.exchange.audience;
  }

  revision(): string {
    return this.exchange.profile().revision;
  }

  awaits(deadlineMs: number): void {
    this.host.pause();
    this.parked.awaiting(this.exchange, deadlineMs);
  }

  yields(): void {
    if (!this.over) this.turn.giveUp();
  }

  regains(): Promise<void> | null {
    return this.turn.regain();
  }

  expired(): void {
    this.exchange.expired();
  }

  /** A legacy server asks over its pipe. */
  ask(question: Question, terms: AskTerms): void {
    const screened = screen(question, this.exchange.spec.name, this.declared());
    if (screened.kind === 'refuse') {
      question.refuse(screened.code, screened.words);
      if (screened.lacks !== undefined) this.lacked(screened.lacks);
      return;
    }
    if (this.parking.full || !this.parked.admit(this.exchange)) {
      question.refuse(-32603, BUSY_WORDS);
      return;
    }
    const { progress } = question;
    this.parking.ask({ ...screened.asked, live: true, progress, settle: (answer) => settle(question, answer) }, terms);
  }

  /** What the caller lacks; what is withheld here is not its to mend (design §8). */
  lacked(need: ClientCapabilities): void {
    const { ask, isolation } = this.exchange.spec;
    if (!covers(projectCapabilities(PERMITTED, ask, isolation, this.revision()), need)) return;
    const { sampling, elicitation } = { ...this.lacks, ...need };
    this.lacks = {
      ...this.lacks,
      ...need,
      ...(sampling === undefined ? {} : { sampling: { ...this.lacks?.sampling, ...sampling } }),
      ...(elicitation === undefined ? {} : { elicitation: { ...this.lacks?.elicitation, ...elicitation } }),
    };
  }

  /** The end that is told instead, when a call failed for want of a capability and nothing of it was heard. */
  instead(ended: Ended): Ended {
    if (this.lacks === null || this.audience.used) return ended;
    const failed = ended.kind === 'result' ? isError(ended.members) : ended.head.reason === 'upstream';
    return failed ? { kind: 'fault', head: lackingFault(this.lacks) } : ended;
  }

  /** -32042: the call is over until its user has been there. */
  visitFirst(visits: readonly Visit[], fallback: FaultHead): void {
    const need = { elicitation: { url: {} } };
    if (!covers(this.declared(), need)) {
      this.lacked(need);
      this.exchange.finish({ kind: 'fault', head: this.lacks === null ? fallback : lackingFault(this.lacks) });
      return;
    }
    if (!visits.every(({ url }) => isWeb(url))) {
      const message = 'the server sends its user to a URL that is neither https nor http';
      this.exchange.finish({ kind: 'fault', head: faultOf('protocol', { message, mayHaveRun: true }) });
      return;
    }
    this.wasUrlError = true;
    this.visiting = true;
    this.collect(visits.map((visit, i) => wantedVisit(visit, String(i), this.exchange.spec.name)));
  }

  /** A modern server asks a legacy caller: this node is its modern client. */
  inputRequired(head: ResultHead, members: Uint8Array): void {
    this.visiting = false;
    this.state = head.state;
    this.collect(wantedOf(members));
  }

  completed(elicitationId: string): void {
    this.collecting?.completed(elicitationId);
    if (!this.lowered) return;
    // Only to the one who was sent there (2511/elicit).
    this.exchange.audience.event(
      'notifications/elicitation/complete',
      Buffer.from(`"elicitationId":${JSON.stringify(elicitationId)}`),
    );
  }

  /** Someone comes back with a state of this exchange. `entries`: answers; null: none. */
  rejoined(listener: Listener, entries: readonly AnswerEntry[] | null, reply: StreamReply): void {
    let anew = false;
    if (entries !== null) {
      const taken = this.parking.take(entries);
      if (taken.kind === 'malformed') {
        const message = `params.inputResponses: ${taken.why}`;
        this.audience.fault(faultOf('upstream', { code: INVALID_PARAMS, message }), (one) => one === listener);
        return;
      }
      if (taken.contradicted)
        this.parked.audit({ what: 'other-answers', xid: this.xid, principal: this.exchange.principal });
      anew = taken.unfit;
      reply.accepted();
      this.parking.deliver();
    }
    if (!this.parking.awaiting) return;
    // What is asked anew, everyone must hear who lowers questions.
    if (anew) this.parking.show();
    else this.parking.tell(listener);
  }

  /** Someone waits for what is new since that round; undefined: he knows of none. */
  waits(listener: Listener, round: number | undefined): void {
    const { set } = this.parking;
    const knows = round === set.round && !(set.news && set.size > 0);
    const told = round === undefined ? this.parking.awaiting : !knows && (this.parking.awaiting || round < set.round);
    if (told) this.parking.tell(listener);
  }

  end(): void {
    this.over = true;
    this.turn.end();
    this.collecting?.end();
    this.parking.end();
  }

  private declared(): ClientCapabilities {
    const { latest, spec } = this.exchange;
    return carried(latest.capabilities, spec, this.revision(), true);
  }

  private collect(wanted: readonly Wanted[]): void {
    if (wanted.length > 0 && !this.parked.admit(this.exchange)) {
      this.exchange.finish({ kind: 'fault', head: faultOf('busy', { message: BUSY_WORDS, mayHaveRun: true }) });
      return;
    }
    this.collecting ??= new Collecting(
      {
        ask: (asked) => this.parking.askAll(asked),
        spend: (responses) => this.spend(responses),
        refused: () => this.exchange.finish(givenUp(this.exchange.head, 'The request for input was refused')),
        exhausted: () => this.exchange.gaveUp('timeout', 'the server asks for the same again and again'),
      },
      this.parked.parking.clock,
    );
    this.collecting.round(wanted);
    // Until the server is asked again, others may.
    if (this.parking.set.size === 0) this.yields();
  }

  private spend(responses: Uint8Array | null): void {
    if (this.visiting && !this.collecting!.agreed) {
      this.exchange.finish(givenUp(this.exchange.head, 'The visit to a URL that the server asked for was declined'));
      return;
    }
    const go = () => this.callAgain(responses);
    const regained = this.regains();
    if (regained === null) go();
    else regained.then(go, () => {});
  }

  private callAgain(responses: Uint8Array | null): void {
    const { latest, head } = this.exchange;
    // Under the first request's id; a state of ours means nothing to the server.
    const { state: _state, incarnation: _incarnation, wait: _wait, fromSeq: _fromSeq, ...rest } = head;
    const next: Open = { ...rest, capabilities: latest.capabilities };
    const { body } = this.exchange;
    if (this.visiting) {
      this.exchange.call(next, body);
      return;
    }
    const answers = responses === null ? [] : [body.length === 0 ? '' : ',', '"inputResponses":', responses];
    const stated = this.state === undefined ? next : { ...next, state: this.state };
    this.exchange.call(stated, concat([body, ...answers]));
  }
}

function wantedVisit({ url, message, elicitationId }: Visit, key: string, server: string): Wanted {
  const params = Buffer.from(JSON.stringify({ mode: 'url', message: askedBy(server, message), url }));
  return { key, asked: { method: 'elicitation/create', params, url, elicitationId } };
}

/** The members have been judged by raise (modern/rounds.ts). */
function wantedOf(members: Uint8Array): Wanted[] {
  const whole = concat(['{', members, '}']);
  const requests = findMember(scan(whole).members, 'inputRequests');
  if (requests?.kind !== 'object') return [];
  return membersOf(whole, requests).flatMap((entry) => {
    const parts = membersOf(whole, entry);
    const method = stringOf(whole, findMember(parts, 'method'));
    const params = findMember(parts, 'params');
    const inner = params?.kind === 'object' ? membersOf(whole, params) : [];
    if (capabilityFor(method, whole, inner) === null) return [];
    const url = stringOf(whole, findMember(inner, 'url'));
    const schema = findMember(inner, 'requestedSchema');
    const text = params === undefined ? null : whole.slice(params.start, params.end);
    const asked: Wanted['asked'] = {
      method: method as Wanted['asked']['method'],
      params: text,
      ...(url === undefined || method !== 'elicitation/create' ? {} : { url }),
      ...(schema?.kind === 'object'
        ? { schema: JSON.parse(Buffer.from(whole.subarray(schema.start, schema.end)).toString()) as FormSchema }
        : {}),
    };
    return [{ key: entry.key, asked }];
  });
}

function givenUp(head: Open, words: string): Ended {
  const text = `${words}, so the call was given up.`;
  if (head.method !== 'tools/call')
    return { kind: 'fault', head: faultOf('upstream', { message: text, mayHaveRun: true }) };
  const members = Buffer.from(`"content":[${JSON.stringify({ type: 'text', text })}],"isError":true`);
  return { kind: 'result', head: { resultType: 'complete' }, members };
}

function lackingFault(lacks: ClientCapabilities): FaultHead {
  return faultOf('capability', {
    code: MISSING_CLIENT_CAPABILITY,
    message: 'The server needs a client capability that this request did not declare.',
    data: JSON.stringify({ requiredCapabilities: lacks }),
    mayHaveRun: true,
  });
}

function isError(members: Uint8Array): boolean {
  const whole = concat(['{', members, '}']);
  const found = findMember(scan(whole).members, 'isError');
  return found?.kind === 'literal' && whole[found.start] === 0x74;
}
