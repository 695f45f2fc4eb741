// Tells what has changed, in both eras (protocol.md §5.1, §5.2): `grow` and `shrink` change its tools, `touch` a resource
// or a part of one. To a legacy client unasked, to a modern one on the listens it has open. `fire` says a change so many
// times; `drop` ends every listen, `refuse` makes it refuse them. What it was subscribed to stands in `subscriptions`.
//
// TOOLS_FILE: names of more tools, read at start. LISTEN=refuse: knows no listen. LISTEN=ends: acknowledges each and
// ends it at once. END=cancelled|both: how it ends.
import { readFileSync } from 'node:fs';
import { fail, isModern, notify, reply, send, serve, text, tool } from './stdio.mjs';

const SUB = 'io.modelcontextprotocol/subscriptionId';
const URIS = ['note://a', 'note://b'];
const tools = [tool('grow', { name: {} }), tool('shrink', { name: {} }), tool('touch', { uri: {} })];
if (process.env.TOOLS_FILE) for (const name of JSON.parse(readFileSync(process.env.TOOLS_FILE))) tools.push(tool(name));
tools.push(tool('fire', { times: {}, what: {} }), tool('drop'), tool('subscriptions'), tool('die'), tool('pid'));
const listens = new Map();
const subscribed = new Set();
let listensSeen = 0;
let era = 'legacy';

function tell(what, params = {}) {
  const method = `notifications/${what}`;
  if (era === 'legacy') return notify(method, params);
  for (const [id, filter] of listens)
    if (wants(filter, what, params.uri)) notify(method, { ...params, _meta: { [SUB]: id } });
}

function wants(filter, what, uri) {
  if (what !== 'resources/updated') return filter[`${what.split('/')[0]}ListChanged`] === true;
  return (filter.resourceSubscriptions ?? []).some((one) => uri === one || uri.startsWith(`${one}/`));
}

function updated(uri) {
  const known = [...subscribed].some((one) => uri === one || uri.startsWith(`${one}/`));
  if (era === 'modern' || known) tell('resources/updated', { uri });
}

function call(name, args) {
  switch (name) {
    case 'grow':
      tools.push(tool(args.name));
      tell('tools/list_changed');
      return text('grown');
    case 'shrink':
      tools.splice(
        tools.findIndex((one) => one.name === args.name),
        1,
      );
      tell('tools/list_changed');
      return text('shrunk');
    case 'touch':
      updated(args.uri);
      return text('touched');
    case 'fire':
      for (let i = 0; i < Number(args.times); i++)
        args.what === undefined ? tell('tools/list_changed') : tell(args.what);
      return text('fired');
    case 'drop':
      for (const id of listens.keys()) end(id);
      return text('dropped');
    case 'subscriptions':
      return text(JSON.stringify({ subscribed: [...subscribed], listens: [...listens.values()], listensSeen }));
    case 'die':
      process.exit(3);
      break;
    case 'pid':
      return text(process.pid);
    default:
      return text(name);
  }
}

function end(id) {
  listens.delete(id);
  const how = process.env.END ?? 'result';
  if (how !== 'result') notify('notifications/cancelled', { requestId: id, reason: 'enough' });
  if (how !== 'cancelled') send({ id, result: { resultType: 'complete', _meta: { [SUB]: id } } });
}

function listen(message) {
  listensSeen++;
  if (process.env.LISTEN === 'refuse') return fail(message, -32601, 'Method not found');
  const { notifications } = message.params;
  const { promptsListChanged: _no, ...honoured } = notifications;
  if (honoured.resourceSubscriptions) honoured.resourceSubscriptions = honoured.resourceSubscriptions.filter(known);
  listens.set(message.id, honoured);
  // Ids come back as text from some servers.
  const _meta = { [SUB]: process.env.TEXT_IDS ? String(message.id) : message.id };
  notify('notifications/subscriptions/acknowledged', { notifications: honoured, _meta });
  if (process.env.LISTEN === 'ends') end(message.id);
}

const known = (uri) => URIS.some((one) => uri === one || uri.startsWith(`${one}/`));

serve({
  tools,
  call,
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true }, logging: {} },
  methods: {
    'resources/list': () => ({ resources: URIS.map((uri) => ({ uri, name: uri })), ttlMs: 0, cacheScope: 'private' }),
    'resources/templates/list': () => ({ resourceTemplates: [], ttlMs: 0, cacheScope: 'private' }),
  },
  before(message) {
    if (isModern(message)) era = 'modern';
    else if (message.method === 'initialize') era = 'legacy';
    const { method, params } = message;
    if (method === 'subscriptions/listen') listen(message);
    else if (method === 'notifications/cancelled') listens.delete(params.requestId);
    else if (method === 'resources/subscribe') {
      if (!known(params.uri)) return fail(message, -32002, 'Resource not found') ?? true;
      subscribed.add(params.uri);
      reply(message, {});
    } else if (method === 'resources/unsubscribe') {
      subscribed.delete(params.uri);
      reply(message, {});
    } else return false;
    return true;
  },
});
