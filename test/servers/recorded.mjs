// Runs another server of this folder (first argument) and writes down in the file RECORD what it is sent: `start <pid>`
// when a process starts, then every message's method, one a line. Tells how often a server was started and in which order
// it was spoken to.
import { appendFileSync } from 'node:fs';

const record = (line) => appendFileSync(process.env.RECORD, `${line}\n`);

record(`start ${process.pid}`);
await import(new URL(process.argv[2], import.meta.url));
process.stdin.prependListener('data', (chunk) => {
  for (const line of String(chunk).split('\n').filter(Boolean)) record(JSON.parse(line).method ?? 'response');
});
