// What a legacy server asks of its client, each answered always and at once (protocol.md §5.0 I3), or handed to
// whoever parks exchanges. Refusal codes: protocol.md §5.5 step 2 and Part 7 #34.

import { findMember, type Member, membersOf, stringOf } from '@lockkeeper/protocol/json/scan';
import { INVALID_PARAMS, METHOD_NOT_FOUND } from '@lockkeeper/protocol/jsonrpc/codes';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { covers } from '@lockkeeper/protocol/mcp/fingerprint';
import type { Connection, Question, Questions } from '../contract.ts';
import type { Room } from '../speaker.ts';
import type { Wire } from '../wire/wire.ts';

/** The server's side of asking, seen from the speaker. */
export interface Asked {
  request(line: Uint8Array, id: string, method: string, params: Member | undefined, room: Room): void;
  withdrawn(id: string): void;
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
      if (no !== null) return refuse(deps.wire, id, no.code, no.words);
      const connection = deps.connection();
      if (deps.questions === undefined || connection === null) {
        return refuse(deps.wire, id, INVALID_PARAMS, 'No request is running that this belongs to');
      }
      deps.questions.ask(connection, questionOf(deps.wire, line, id, method as Question['method'], params, room));
    },
    withdrawn(id) {
      const connection = deps.connection();
      if (deps.questions !== undefined && connection !== null) deps.questions.withdraw(connection, id);
    },
  };
}

interface No {
  readonly code: number;
  readonly words: string;
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
      return covers(declared, { elicitation: { url: {} } }) ? null : { code: INVALID_PARAMS, words };
    }
    default:
      return { code: METHOD_NOT_FOUND, words: 'Method not found' };
  }
}

function need(declared: ClientCapabilities, needed: ClientCapabilities, name: string): No | null {
  if (covers(declared, needed)) return null;
  return { code: METHOD_NOT_FOUND, words: `This client did not declare ${name}` };
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
    asker: room.only(),
    answer: (result) => void wire.respond(id, Buffer.concat([Buffer.from('"result":'), result])),
    refuse: (code, message) => refuse(wire, id, code, message),
  };
}

function refuse(wire: Wire, id: string, code: number, words: string): void {
  wire.respond(id, `"error":${JSON.stringify({ code, message: words })}`);
}
