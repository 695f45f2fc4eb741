// The bench's server: a stdio MCP server of both eras without dependencies, as cheap as one can be, so that what is measured
// is what stands in front of it. A long text is found in the bytes and copied, never parsed.

import { type Message, resultOf } from './echo.ts';

const NEWLINE = 10;
const TEXT = Buffer.from('"text":"');
const QUOTE = 34;
const LONG = 4096;

function answerTo(line: string): string {
  const message = JSON.parse(line) as Message;
  if (message.id === undefined) return '';
  const result = resultOf(message);
  const body = result ? { result } : { error: { code: -32601, message: `no method ${message.method}` } };
  return `${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body })}\n`;
}

/** The text is cut out, the rest answered with an empty one, and the bytes put back. It holds no escapes here. */
function answerToLong(line: Buffer): Buffer[] {
  const from = line.indexOf(TEXT);
  const start = from + TEXT.length;
  const end = line.indexOf(QUOTE, start);
  if (from < 0 || end < 0) return [Buffer.from(answerTo(line.toString('utf8')))];
  const answer = Buffer.from(answerTo(line.toString('utf8', 0, start) + line.toString('utf8', end)));
  const hole = answer.indexOf(TEXT) + TEXT.length;
  return [answer.subarray(0, hole), line.subarray(start, end), answer.subarray(hole)];
}

let held: Buffer[] = [];

function take(chunk: Buffer): void {
  let from = 0;
  let short = '';
  process.stdout.cork();
  for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
    const tail = chunk.subarray(from, at);
    const line = held.length > 0 ? Buffer.concat([...held, tail]) : tail;
    held = [];
    from = at + 1;
    if (line.length < LONG) {
      if (line.length > 0) short += answerTo(line.toString('utf8'));
      continue;
    }
    if (short !== '') process.stdout.write(short);
    short = '';
    for (const part of answerToLong(line)) process.stdout.write(part);
  }
  if (short !== '') process.stdout.write(short);
  if (from < chunk.length) held.push(chunk.subarray(from));
  process.stdout.uncork();
}

process.stdin.on('data', take);
process.stdin.on('end', () => process.exit(0));
