// Loaded before a stdio server (`node --import`): writes every message that the server reads or writes into the file
// RECORD, one a line, with who wrote it and in which process. Changes nothing of what it sees.

import { appendFileSync } from 'node:fs';

function recorder(by) {
  let rest = '';
  return (chunk) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop();
    for (const part of parts) {
      if (part.trim() === '') continue;
      const entry = { by, pid: process.pid, message: JSON.parse(part) };
      appendFileSync(process.env.RECORD, `${JSON.stringify(entry)}\n`);
    }
  };
}

const [told, said] = [recorder('lockkeeper'), recorder('server')];
const { emit } = process.stdin;
process.stdin.emit = function recorded(event, ...rest) {
  if (event === 'data') told(rest[0]);
  return emit.call(this, event, ...rest);
};
const { write } = process.stdout;
process.stdout.write = function recorded(chunk, ...rest) {
  said(chunk);
  return write.call(this, chunk, ...rest);
};
