// What a legacy server asks of its client, each answered always and at once (protocol.md §5.0 I3), or handed to
// whoever parks exchanges. Refusal codes: protocol.md §5.5 step 2 and Part 7 #34.

import { findMember, type Member, membersOf, stringOf, textOf } from '@lockkeeper/protocol/json/scan';
import { INVALID_PARAMS, METHOD_NOT_FOUND } from '@lockkeeper/protocol/jsonrpc/codes';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { covers } from '@lockkeeper/protocol/mcp/fingerprint';
import { PROGRESS_TOKEN } from '@lockkeeper/protocol/mcp/meta';
import type { Connection, Question, Questions } from '../contract.ts';
import type { Room } from '../speaker.ts';
import type { Wire } from '../wire/wire.ts';

/** The server's side of asking, seen from the speaker. */
export interface Asked {
  request(line: Uint8Array, id: string, method: string, params: Member | undefined, room: Room): void;
  withdrawn(id: string): void;
  completed(elicitationId: string): void;
}

export interface AskedDeps {
  readonly wire: Wire;
  /** What this process was initialised with. */
  readonly declared: ClientCapabilities;
  readonly questions: Questions | undefined;
  connection(): Connection | null;
}

export function createAsked(deps: AskedDeps): Asked {
  return {
    request(line, id, method, params, room) {
      if (method === 'ping') {
        deps.wire.respond(id, '"result":{}');
        return;
      }
      const no = refusal(deps.declared, line, method, params);
      const connection = deps.connection();
      if (no !== null) {
        refuse(deps.wire, id, no.code, no.words);
        const asker = no.need === undefined ? null : room.asker();
        if (asker !== null && connection !== null) deps.questions?.refused?.(connection, asker, no.need!);
        return;
      }
      if (deps.questions === undefined || connection === null) {
        return refuse(deps.wire, id, INVALID_PARAMS, 'No request is running that this belongs to');
      }
      deps.questions.ask(connection, questionOf(deps.wire, line, id, method as Question['method'], params, room));
    },
    withdrawn(id) {
      const connection = deps.connection();
      if (deps.questions !== undefined && connection !== null) deps.questions.withdraw(connection, id);
    },
    completed(elicitationId) {
      const connection = deps.connection();
      if (connection !== null) deps.questions?.completed?.(connection, elicitationId);
    },
  };
}

interface No {
  readonly code: number;
  readonly words: string;
  /** What its client would have to declare. */
  readonly need?: ClientCapabilities;
}

function refusal(
  declared: ClientCapabilities,
  line: Uint8Array,
  method: string,
  params: Member | undefined,
): No | null {
  switch (method) {
    case 'roots/list':
      return need(declared, { roots: {} }, 'roots');
    case 'sampling/createMessage':
      return need(declared, { sampling: {} }, 'sampling');
    case 'elicitation/create': {
      const members = params?.kind === 'object' ? membersOf(line, params) : [];
      if (stringOf(line, findMember(members, 'mode')) !== 'url') {
        return need(declared, { elicitation: { form: {} } }, 'elicitation');
      }
      // 2511/elicit: an undeclared mode is a bad parameter, not an unknown method.
      const words = 'URL mode elicitation is not supported by this client';
      const url = { elicitation: { url: {} } };
      return covers(declared, url) ? null : { code: INVALID_PARAMS, words, need: url };
    }
    default:
      return { code: METHOD_NOT_FOUND, words: 'Method not found' };
  }
}

function need(declared: ClientCapabilities, needed: ClientCapabilities, name: string): No | null {
  if (covers(declared, needed)) return null;
  return { code: METHOD_NOT_FOUND, words: `This client did not declare ${name}`, need: needed };
}

function questionOf(
  wire: Wire,
  line: Uint8Array,
  id: string,
  method: Question['method'],
  params: Member | undefined,
  room: Room,
): Question {
  return {
    method,
    id,
    params: params === undefined ? Buffer.from('{}') : line.subarray(params.start, params.end),
    asker: room.asker(),
    answer: (result) => void wire.respond(id, Buffer.concat([Buffer.from('"result":'), result])),
    refuse: (code, message) => refuse(wire, id, code, message),
    progress: progressOf(wire, line, params),
  };
}

function progressOf(wire: Wire, line: Uint8Array, params: Member | undefined): Question['progress'] {
  const members = params?.kind === 'object' ? membersOf(line, params) : [];
  const meta = findMember(members, '_meta');
  const token = meta?.kind === 'object' ? findMember(membersOf(line, meta), PROGRESS_TOKEN) : undefined;
  if (token === undefined || (token.kind !== 'string' && token.kind !== 'number')) return null;
  const text = textOf(line, token);
  return (count) => void wire.notify('notifications/progress', `{"progressToken":${text},"progress":${count}}`);
}

function refuse(wire: Wire, id: string, code: number, words: string): void {
  wire.respond(id, `"error":${JSON.stringify({ code, message: words })}`);
}
