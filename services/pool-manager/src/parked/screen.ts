// A legacy server's question before anybody hears of it (protocol.md §5.0 I2, §5.5 step 2): only what this very call
// declared, down to mode and sub-capability; then in the form a modern caller knows. Schema, URL, hints and limits stay
// byte for byte; an elicitation names its server; ids and tasks of the pipe are taken out.

import { concat } from '@lockkeeper/protocol/json/compose';
import { findMember, type Member, parseSpan, ScanError, scan, stringOf } from '@lockkeeper/protocol/json/scan';
import { INVALID_PARAMS, METHOD_NOT_FOUND } from '@lockkeeper/protocol/jsonrpc/codes';
import type { ClientCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import { missing } from '@lockkeeper/protocol/mcp/fingerprint';
import { askedBy, capabilityFor } from '@lockkeeper/protocol/mcp/questions';
import type { Question } from '../raise/contract.ts';
import type { Asked } from './asked.ts';
import type { FormSchema } from './form.ts';

export type Screened =
  | { readonly kind: 'ask'; readonly asked: Omit<Asked, 'settle' | 'progress' | 'live'> }
  | {
      readonly kind: 'refuse';
      readonly code: number;
      readonly words: string;
      /** What this call would have had to declare. */
      readonly lacks?: ClientCapabilities;
    };

/** Read here and by the client in one and the same way, or not at all. */
const STRICT = { unique: true, maxDepth: 256 };

export function screen(
  question: Pick<Question, 'method' | 'params'>,
  server: string,
  declared: ClientCapabilities,
): Screened {
  const bytes = question.params;
  const params = objectIn(bytes);
  if (params === null) return refuse(INVALID_PARAMS, 'The params are not a clean JSON object');
  const need = capabilityFor(question.method, bytes, params);
  if (need === null) return refuse(INVALID_PARAMS, 'Unknown elicitation mode');
  const lacks = missing(declared, need);
  if (lacks !== null) return { ...undeclared(question.method, lacks), lacks };
  switch (question.method) {
    case 'roots/list':
      return { kind: 'ask', asked: { method: question.method, params: null } };
    case 'sampling/createMessage':
      return { kind: 'ask', asked: { method: question.method, params: sampling(bytes, params, declared) } };
    case 'elicitation/create':
      return elicitation(bytes, params, server);
  }
}

/** A method it does not have, or a param it does not take (2511/elicit, 2511/sampl). */
function undeclared(method: Question['method'], lacks: ClientCapabilities) {
  const part = lacks.elicitation?.url !== undefined || lacks.sampling?.tools !== undefined;
  const [name, parts] = Object.entries(lacks)[0] as [string, object];
  const words = `This client did not declare ${[name, ...Object.keys(parts)].join('.')}`;
  return refuse(part ? INVALID_PARAMS : METHOD_NOT_FOUND, `${words}, which ${method} needs`);
}

function sampling(bytes: Uint8Array, params: readonly Member[], declared: ClientCapabilities): Uint8Array {
  const context = declared.sampling?.context !== undefined;
  const none = { includeContext: '"none"' };
  const edits = context || findMember(params, 'includeContext') === undefined ? {} : none;
  return rebuilt(bytes, params, edits);
}

function elicitation(bytes: Uint8Array, params: readonly Member[], server: string): Screened {
  const message = stringOf(bytes, findMember(params, 'message'));
  if (message === undefined) return refuse(INVALID_PARAMS, 'An elicitation needs a message');
  const shown = rebuilt(bytes, params, { message: JSON.stringify(askedBy(server, message)) });
  const method = 'elicitation/create';
  if (stringOf(bytes, findMember(params, 'mode')) !== 'url') {
    const schema = findMember(params, 'requestedSchema');
    if (schema?.kind !== 'object') return refuse(INVALID_PARAMS, 'An elicitation by form needs a requestedSchema');
    return { kind: 'ask', asked: { method, params: shown, schema: parseSpan(bytes, schema) as FormSchema } };
  }
  const url = stringOf(bytes, findMember(params, 'url'));
  if (url === undefined || !isWeb(url))
    return refuse(INVALID_PARAMS, 'The url of an elicitation must be https or http');
  const elicitationId = stringOf(bytes, findMember(params, 'elicitationId'));
  return {
    kind: 'ask',
    asked: { method, params: shown, url, ...(elicitationId === undefined ? {} : { elicitationId }) },
  };
}

/** Part 6 #16: by its scheme only; where it leads is the person's to judge. */
export function isWeb(url: string): boolean {
  return /^https?:\/\//i.test(url) && URL.canParse(url);
}

const PIPE_ONLY: ReadonlySet<string> = new Set(['_meta', 'task', 'elicitationId']);

function rebuilt(bytes: Uint8Array, params: readonly Member[], edits: Readonly<Record<string, string>>): Uint8Array {
  const parts: (Uint8Array | string)[] = ['{'];
  for (const m of params) {
    if (PIPE_ONLY.has(m.key)) continue;
    if (parts.length > 1) parts.push(',');
    const edit = Object.hasOwn(edits, m.key) ? edits[m.key] : undefined;
    if (edit === undefined) parts.push(bytes.subarray(m.keyStart, m.end));
    else parts.push(bytes.subarray(m.keyStart, m.start), edit);
  }
  parts.push('}');
  return concat(parts);
}

function objectIn(bytes: Uint8Array): Member[] | null {
  try {
    const found = scan(bytes, STRICT);
    return found.kind === 'object' ? found.members : null;
  } catch (error) {
    if (error instanceof ScanError) return null;
    throw error;
  }
}

function refuse(code: number, words: string): Extract<Screened, { kind: 'refuse' }> {
  return { kind: 'refuse', code, words };
}
