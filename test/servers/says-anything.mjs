// No habit of its own: it says what its caller tells it to, and what it has seen. LISTS in its environment: JSON of
// {capabilities, tools, prompts, resources, resourceTemplates}, listed as they stand; CODES: JSON of {method: code} that
// are answered by an error instead.
//
// Tools: `say {result}` answers with that JSON text as its result; `write {lines}` writes those lines, $ID and $TOKEN in
// them being the request's id and progress token, and nothing else; `later {ms, text}` answers after a while; `together {of, cut}` waits for so many of
// its calls and answers all in one write, or in two with `cut` bytes in the second; `pieces {bytes}` answers with a line
// of exactly that many bytes, 4 KB at a time; `seen` gives the lines received so far, `pid` the process. Any other tool
// answers with its own name and arguments.
import { isModern, reply, serve, text, tool, write } from './stdio.mjs';

const { capabilities = {}, ...lists } = JSON.parse(process.env.LISTS ?? '{}');
const codes = JSON.parse(process.env.CODES ?? '{}');
const OWN = ['say', 'write', 'later', 'together', 'pieces', 'seen', 'pid'];
const own = process.env.LISTS === undefined ? OWN : [];
const tools = [...own.map((name) => tool(name)), ...(lists.tools ?? [])];
const hints = (message) => (isModern(message) ? { ttlMs: 0, cacheScope: 'private' } : {});
const listed = (key) => (_params, message) => ({ [key]: lists[key] ?? [], ...hints(message) });
const seen = [];
const waiting = [];

let rest = '';
process.stdin.on('data', (chunk) => {
  const parts = (rest + chunk).split('\n');
  rest = parts.pop();
  seen.push(...parts.filter(Boolean));
});

function together({ of, cut }, message) {
  waiting.push(message);
  if (waiting.length < of) return;
  const results = waiting.splice(0).map(({ id, params }) => ({ id, result: text(params.arguments.text) }));
  const all = results.map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`).join('');
  if (cut === undefined) return process.stdout.write(all);
  process.stdout.write(all.slice(0, -cut));
  setTimeout(() => process.stdout.write(all.slice(-cut)), 50);
}

let piecing = Promise.resolve();

async function pieces({ bytes }, { id }) {
  const head = `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`;
  const tail = '"}]}}';
  const line = `${head}${'x'.repeat(bytes - head.length - tail.length)}${tail}\n`;
  for (let at = 0; at < line.length; at += 4096) {
    process.stdout.write(line.slice(at, at + 4096));
    await new Promise((done) => setImmediate(done));
  }
}

const ACTS = {
  say: (args, { id }) => write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${args.result}}`),
  write(args, { id, params }) {
    const token = JSON.stringify(params._meta?.progressToken ?? null);
    write(args.lines.join('\n').replaceAll('$ID', JSON.stringify(id)).replaceAll('$TOKEN', token));
  },
  // Never into the middle of a line.
  later: (args, message) => setTimeout(() => void piecing.then(() => reply(message, text(args.text))), args.ms),
  together,
  pieces(args, message) {
    piecing = piecing.then(() => pieces(args, message));
  },
  seen: (_args, message) => reply(message, text(JSON.stringify(seen))),
  pid: (_args, message) => reply(message, text(process.pid)),
};

serve({
  era: 'legacy',
  capabilities,
  tools,
  before(message) {
    const code = codes[message.method];
    if (code === undefined) return false;
    write(JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code, message: 'as told' } }));
    return true;
  },
  methods: {
    'prompts/list': listed('prompts'),
    'resources/list': listed('resources'),
    'resources/templates/list': listed('resourceTemplates'),
    'prompts/get': ({ name, arguments: args }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify({ name, arguments: args }) } }],
    }),
    'resources/read': ({ uri }, message) => ({
      contents: [{ uri, text: `${uri} of ${process.env.NAME ?? 'fixture'} in ${process.pid}` }],
      ...hints(message),
    }),
    'completion/complete': ({ ref }) => ({ completion: { values: [ref.name ?? ref.uri] } }),
  },
  call(name, args, message) {
    if (ACTS[name] === undefined) return text(JSON.stringify({ name, arguments: args }));
    ACTS[name](args, message);
    return undefined;
  },
});
