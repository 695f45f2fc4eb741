// Messages to a server, put together by bytes (design §11): one buffer, one line, nothing re-serialised.

import type { Line } from '../../child/contract.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
/** Longer params are not copied; the child's queue takes out their line breaks, if there are any. */
const COPIED_BYTES = 64 * 1024;
const TAIL = Buffer.from('}}');

/**
 * `meta` and `params` are members without braces. Raw line breaks in them can only stand between tokens, where a
 * space means the same (design ruling 1); on stdio they would end the message.
 */
export function requestLine(id: number, method: string, meta: string, params: Uint8Array): Line {
  const comma = params.length > 0 && meta !== '' ? ',' : '';
  const envelope = meta === '' ? '' : `"_meta":{${meta}}`;
  const head = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":{${envelope}${comma}`;
  if (params.length > COPIED_BYTES) return [withoutBreaks(Buffer.from(head)), params, TAIL];
  const headLength = Buffer.byteLength(head);
  const line = Buffer.allocUnsafe(headLength + params.length + 2);
  line.write(head, 0, 'utf8');
  line.set(params, headLength);
  line.write('}}', headLength + params.length, 'latin1');
  return withoutBreaks(line);
}

/** `params`: raw JSON text, one line already; '' for none. */
export function notificationLine(method: string, params: string): Uint8Array {
  const tail = params === '' ? '' : `,"params":${params}`;
  return Buffer.from(`{"jsonrpc":"2.0","method":${JSON.stringify(method)}${tail}}`);
}

/** `id`: the raw text as the server wrote it. `body`: `"result":…` or `"error":…`. */
export function responseLine(id: string, body: string | Uint8Array): Uint8Array {
  const line = Buffer.concat([
    Buffer.from(`{"jsonrpc":"2.0","id":${id},`),
    typeof body === 'string' ? Buffer.from(body) : body,
    Buffer.from('}'),
  ]);
  return withoutBreaks(line);
}

function withoutBreaks(line: Buffer): Uint8Array {
  for (let at = line.indexOf(LF); at !== -1; at = line.indexOf(LF, at + 1)) line[at] = SPACE;
  for (let at = line.indexOf(CR); at !== -1; at = line.indexOf(CR, at + 1)) line[at] = SPACE;
  return line;
}
