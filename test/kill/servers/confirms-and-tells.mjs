// A legacy server that tells and asks about one thing at a time: `work {arg}` reports progress, logs, asks
// "confirm <arg>?" and answers (after `thenMs`) with what it was told, every word of it naming `arg`; `steps {arg, steps, everyMs}` only
// reports. Each start of a call is a line in the file COUNTER; what it is sent and says can be recorded (matrix/record).

import { appendFileSync } from 'node:fs';
import { notify, send, serve, text, tool } from '../../servers/stdio.mjs';

const FORM = { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] };
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const open = new Map();
let next = 0;

function ask(params) {
  const id = `q${++next}`;
  return new Promise((resolve) => {
    open.set(id, resolve);
    send({ id, method: 'elicitation/create', params });
  });
}

function tell(arg, message, progress) {
  const progressToken = message.params._meta?.progressToken;
  if (progressToken !== undefined)
    notify('notifications/progress', { progressToken, progress, message: `${arg} ${progress}` });
  notify('notifications/message', { level: 'info', logger: 'work', data: { arg, progress } });
}

async function work({ arg, thenMs }, message) {
  tell(arg, message, 1);
  const { result, error } = await ask({ message: `confirm ${arg}?`, requestedSchema: FORM });
  tell(arg, message, 2);
  if (thenMs) await pause(thenMs);
  return text(error ? `${arg}: refused ${error.code}` : `${arg}: ${result.action} ${result.content?.code ?? ''}`);
}

async function steps({ arg, steps: count, everyMs }, message) {
  for (let step = 1; step <= count; step++) {
    await pause(everyMs);
    tell(arg, message, step);
  }
  return text(`${arg}: ${count} steps`);
}

serve({
  capabilities: { logging: {} },
  tools: [tool('work', { arg: {}, thenMs: {} }), tool('steps', { arg: {}, steps: {}, everyMs: {} }), tool('pid')],
  methods: { 'logging/setLevel': () => ({}) },
  before(message) {
    if (message.method !== undefined) return false;
    open.get(message.id)?.(message);
    return open.delete(message.id);
  },
  call(name, args, message) {
    if (name === 'pid') return text(process.pid);
    appendFileSync(process.env.COUNTER, `${args.arg}\n`);
    return name === 'steps' ? steps(args, message) : work(args, message);
  },
});
