// Writes each answer cut inside every character of more than one byte, 2 ms apart (GB-030); SPLIT=bytes: byte by byte;
// CRLF=1: lines end in \r\n; BOM=1: the first line starts with a byte order mark (GB-031).
import { serve } from './stdio.mjs';

let queue = Promise.resolve();
let first = true;
const plain = process.stdout.write.bind(process.stdout);

process.stdout.write = (line) => {
  const mark = first && process.env.BOM === '1' ? '\uFEFF' : '';
  first = false;
  const bytes = Buffer.from(mark + (process.env.CRLF === '1' ? line.replace('\n', '\r\n') : line));
  queue = queue.then(() => pieces(bytes));
  return true;
};

async function pieces(bytes) {
  let from = 0;
  for (let at = 1; at <= bytes.length; at++) {
    // A continuation byte here: cut in front of it.
    const cut = at === bytes.length || process.env.SPLIT === 'bytes' || (bytes[at] & 0xc0) === 0x80;
    if (!cut) continue;
    plain(bytes.subarray(from, at));
    from = at;
    await new Promise((done) => setTimeout(done, 2));
  }
}

serve();
