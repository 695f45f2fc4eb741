// A legacy server that asks. Each start of a tool is a line in the file COUNTER (where it is set). All tools take a
// `secret`, which is in everything they say and ask, and give back what they were told:
//   ask {kinds, secret, together}  asks elicit, url, sample, roots, in that order or all at once
//   withdraw {secret}              asks twice and takes the first question back
//   talk {secret, times}           asks, then progress and a log line, as often as told
//   gate {secret}                  -32042 until `open {secret}` has been called; then says it is complete
// ROOTS=1: it asks for roots right after `notifications/initialized`; tool `roots` gives what it was told.

import { appendFileSync } from 'node:fs';
import { fail, notify, send, serve, tool } from './stdio.mjs';

const FORM = { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] };
const KINDS = {
  elicit: (secret) => ['elicitation/create', { message: `code for ${secret}?`, requestedSchema: FORM }],
  url: (secret) => [
    'elicitation/create',
    { mode: 'url', message: `visit for ${secret}`, url: `https://a.example/${secret}`, elicitationId: `u-${secret}` },
  ],
  sample: (secret) => [
    'sampling/createMessage',
    { messages: [{ role: 'user', content: { type: 'text', text: secret } }], maxTokens: 10 },
  ],
  roots: () => ['roots/list', undefined],
};

const open = new Map();
let next = 0;
let roots = 'not told';

const newId = () => `q${++next}`;

function ask(kind, secret, id = newId()) {
  return new Promise((resolve) => {
    open.set(id, ({ result, error }) => resolve(error === undefined ? { result } : { error }));
    const [method, params] = KINDS[kind](secret);
    send({ id, method, ...(params && { params }) });
  });
}

const asked = new Set();
const said = (secret, told) => ({ content: [{ type: 'text', text: JSON.stringify({ secret, told }) }] });

const TOOLS = {
  async ask({ kinds, secret, together }) {
    const told = [];
    if (together) told.push(...(await Promise.all(kinds.map((kind) => ask(kind, secret)))));
    else for (const kind of kinds) told.push(await ask(kind, secret));
    return said(secret, told);
  },
  async withdraw({ secret }) {
    const id = newId();
    const first = ask('elicit', secret, id);
    const second = ask('elicit', secret);
    setTimeout(() => {
      notify('notifications/cancelled', { requestId: id, reason: secret });
      open.get(id)?.({ result: 'withdrawn' });
      open.delete(id);
    }, 100);
    return said(secret, await Promise.all([first, second]));
  },
  async talk({ secret, times }, message) {
    const told = [];
    for (let i = 1; i <= times; i++) {
      const { progressToken } = message.params._meta;
      notify('notifications/progress', { progressToken, progress: i, message: secret });
      notify('notifications/message', { level: 'info', data: secret });
      told.push(await ask('elicit', secret));
    }
    return said(secret, told);
  },
  gate({ secret }, message) {
    if (asked.has(secret)) return said(secret, 'open');
    const [, params] = KINDS.url(secret);
    return fail(message, -32042, 'Visit first', { elicitations: [params] });
  },
  open({ secret }) {
    asked.add(secret);
    notify('notifications/elicitation/complete', { elicitationId: `u-${secret}` });
    return said(secret, 'opened');
  },
  roots: () => said('', roots),
};

const args = {
  secret: { type: 'string' },
  kinds: { type: 'array' },
  together: { type: 'boolean' },
  times: { type: 'integer' },
};

serve({
  capabilities: { logging: {} },
  tools: Object.keys(TOOLS).map((name) => tool(name, args)),
  before(message) {
    if (message.method === 'logging/setLevel') {
      send({ id: message.id, result: {} });
      return true;
    }
    if (message.method === 'notifications/initialized' && process.env.ROOTS === '1') {
      void ask('roots', '').then((answer) => {
        roots = answer;
      });
      return true;
    }
    if (message.method !== undefined) return false;
    open.get(message.id)?.(message);
    return open.delete(message.id);
  },
  async call(name, given, message) {
    if (process.env.COUNTER) appendFileSync(process.env.COUNTER, `${name} ${given.secret}\n`);
    return TOOLS[name](given, message);
  },
});
