// A server that does whatever it is told, in the way of its era (ERA=legacy|modern|dual): what the soak's servers are made
// of. Every word it says names the `secret` of who asked. Tools: echo, work {steps, everyMs}, ask, big {size}, crash
// {how}, hang, spin {ms}, noise {kind, lines}, touch, recall (every secret that this process was ever told).
//
// SPELL: a file that, while it is there, says how every start fails (exit, hang, garbage). STUBBORN=1: only SIGKILL ends
// it. GRANDCHILD=1: it leaves one behind that does the same, in a session of its own. START_MS: it is slow to start.

import { spawn } from 'node:child_process';
import { closeSync, readFileSync } from 'node:fs';
import { fail, isModern, notify, reply, send, serve, text, tool, write } from '../../servers/stdio.mjs';

const { SPELL, STUBBORN, GRANDCHILD, START_MS } = process.env;
const CC = 'io.modelcontextprotocol/clientCapabilities';
const SUB = 'io.modelcontextprotocol/subscriptionId';
const FORM = { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] };
const URIS = ['note://a', 'note://b'];

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const open = new Map();
const listens = new Map();
const subscribed = new Set();
const told = new Set();
let next = 0;

function spelled() {
  try {
    return readFileSync(SPELL, 'utf8');
  } catch {
    return '';
  }
}

/** Once for each step: progress to who wants it, a log line to everyone (a modern one only to who asked). */
function tell(secret, message, progress) {
  const meta = message.params._meta;
  const progressToken = meta?.progressToken;
  if (progressToken !== undefined) notify('notifications/progress', { progressToken, progress, message: secret });
  if (!isModern(message) || meta['io.modelcontextprotocol/logLevel'] !== undefined)
    notify('notifications/message', { level: 'info', logger: 'soak', data: { secret, progress } });
}

function askLegacy(secret) {
  const id = `q${++next}`;
  return new Promise((resolve) => {
    open.set(id, ({ result, error }) =>
      resolve(text(`${secret} told ${error?.code ?? result.content?.code ?? result.action}`)),
    );
    send({ id, method: 'elicitation/create', params: { message: `code for ${secret}?`, requestedSchema: FORM } });
  });
}

function askModern(secret, message) {
  const { inputResponses, requestState, _meta } = message.params;
  const answer = inputResponses?.code;
  if (answer !== undefined) return text(`${requestState} told ${answer.content?.code ?? answer.action}`);
  if (_meta[CC].elicitation === undefined) {
    fail(message, -32021, 'This tool asks', { requiredCapabilities: { elicitation: { form: {} } } });
    return undefined;
  }
  const params = { message: `code for ${secret}?`, requestedSchema: FORM };
  const inputRequests = { code: { method: 'elicitation/create', params } };
  reply(message, { resultType: 'input_required', inputRequests, requestState: secret });
  return undefined;
}

function noise(kind, lines, secret) {
  for (let i = 0; i < lines; i++) {
    if (kind === 'stderr') process.stderr.write(`${secret} line ${i}\n`);
    else if (kind === 'garbage') write(`${secret} is not JSON ${i}`);
    else notify('notifications/message', { level: 'debug', data: `${secret} line ${i}` });
  }
}

function updated(uri) {
  if (subscribed.has(uri)) notify('notifications/resources/updated', { uri });
  for (const [id, uris] of listens)
    if (uris.includes(uri)) notify('notifications/resources/updated', { uri, _meta: { [SUB]: id } });
}

const TOOLS = {
  echo: ({ secret }) => text(secret),
  async work({ secret, steps, everyMs }, message) {
    for (let step = 1; step <= steps; step++) {
      tell(secret, message, step);
      await pause(everyMs);
    }
    return text(secret);
  },
  ask: ({ secret }, message) => (isModern(message) ? askModern(secret, message) : askLegacy(secret)),
  big: ({ secret, size }) => text(`${secret} `.repeat(Math.ceil(size / (secret.length + 1)))),
  crash({ secret, how }) {
    process.stderr.write(`${secret} was the last thing I heard\n`);
    if (how === 'kill') process.kill(process.pid, 'SIGKILL');
    else if (how === 'close') closeSync(1);
    else process.exit(3);
  },
  hang: () => undefined,
  spin({ secret, ms }) {
    const end = Date.now() + ms;
    while (Date.now() < end);
    return text(secret);
  },
  noise({ secret, kind, lines }) {
    noise(kind, lines, secret);
    return text(secret);
  },
  touch({ secret, uri }) {
    updated(uri);
    return text(secret);
  },
  recall: ({ secret }) => text([secret, ...told].join(' ')),
};

function listen(message) {
  const { promptsListChanged: _none, ...honoured } = message.params.notifications;
  const uris = (honoured.resourceSubscriptions ?? []).filter((uri) => URIS.includes(uri));
  listens.set(message.id, uris);
  const _meta = { [SUB]: message.id };
  const notifications = { ...honoured, resourceSubscriptions: uris };
  notify('notifications/subscriptions/acknowledged', { notifications, _meta });
}

function before(message) {
  const { method, params } = message;
  if (method === undefined) {
    open.get(message.id)?.(message);
    open.delete(message.id);
  } else if (method === 'notifications/cancelled') listens.delete(params.requestId);
  else if (method === 'subscriptions/listen') listen(message);
  else if (method === 'resources/subscribe' || method === 'resources/unsubscribe') {
    if (!URIS.includes(params.uri)) fail(message, -32002, 'Resource not found');
    else {
      subscribed[method === 'resources/subscribe' ? 'add' : 'delete'](params.uri);
      reply(message, {});
    }
  } else return false;
  return true;
}

if (STUBBORN === '1') {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
  setInterval(() => {}, 60_000);
}
if (GRANDCHILD === '1') {
  const stubborn = "for (const s of ['SIGTERM', 'SIGHUP']) process.on(s, () => {}); setInterval(() => {}, 60000)";
  spawn(process.execPath, ['-e', stubborn], { stdio: 'ignore', detached: true }).unref();
}

const spell = SPELL === undefined ? '' : spelled();
if (spell === 'exit') {
  process.stderr.write('under a spell\n');
  process.exit(7);
}
if (spell === 'garbage') for (let i = 0; i < 200; i++) write(`under a spell ${i}`);
if (START_MS !== undefined) await pause(Number(START_MS));
if (spell === 'hang') process.stdin.resume();
else {
  const lists = (entries) => ({ ...entries, ttlMs: 0, cacheScope: 'private' });
  serve({
    tools: Object.keys(TOOLS).map((name) => tool(name, { secret: { type: 'string' } })),
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, logging: {} },
    methods: {
      'logging/setLevel': () => ({}),
      'resources/list': () => lists({ resources: URIS.map((uri) => ({ uri, name: uri })) }),
      'resources/templates/list': () => lists({ resourceTemplates: [] }),
    },
    before,
    call(name, args, message) {
      if (typeof args.secret === 'string') told.add(args.secret);
      return TOOLS[name](args, message);
    },
    ...(STUBBORN === '1' && { onEnd: () => {} }),
  });
}
