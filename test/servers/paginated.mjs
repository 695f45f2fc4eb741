// tools/list in three pages, the second one's cursor an empty string: only absence ends a list (protocol.md §1.5), and
// `echo-3` is on the last page. Another cursor is -32602. CURSOR=stuck: every page names the same next cursor; circle: two
// pages name each other; endless: a fresh one for ever; same: a fresh one for ever and always the same tool (GB-130).
import { echo, fail, isModern, reply, serve } from './stdio.mjs';

const page = (name) => [{ name, inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }];
const PAGES = new Map([
  [undefined, { tools: page('echo-1'), nextCursor: '' }],
  ['', { tools: page('echo-2'), nextCursor: 'last' }],
  ['last', { tools: page('echo-3') }],
]);
let turn = 0;

function pageAt(cursor) {
  turn++;
  if (process.env.CURSOR === 'stuck') return { tools: page('echo-1'), nextCursor: 'same' };
  if (process.env.CURSOR === 'same') return { tools: page('echo-1'), nextCursor: `${turn}` };
  if (process.env.CURSOR === 'circle') {
    return cursor === 'x' ? { tools: page('echo-2'), nextCursor: 'y' } : { tools: page('echo-1'), nextCursor: 'x' };
  }
  if (process.env.CURSOR === 'endless') return { tools: page(`echo-${turn}`), nextCursor: `${turn}` };
  return PAGES.get(cursor);
}

serve({
  tools: ['echo-1', 'echo-2', 'echo-3'].flatMap(page),
  call: echo,
  before(message) {
    if (message.method !== 'tools/list') return false;
    const found = pageAt(message.params?.cursor);
    if (found === undefined) fail(message, -32602, 'Bad cursor');
    else reply(message, isModern(message) ? { ...found, ttlMs: 0, cacheScope: 'private' } : found);
    return true;
  },
});
