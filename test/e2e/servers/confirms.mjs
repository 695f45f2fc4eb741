// A server whose one tool asks before it acts, in the way of its era (ERA=legacy|modern): `confirm {arg}` asks
// "confirm <arg>?" and gives back what was answered. Each start of a call is a line in the file COUNTER; a modern one
// keeps its state with the caller and trusts any that it made (GB-059), and counts a retry as `again`.

import { appendFileSync } from 'node:fs';
import { fail, isModern, reply, send, serve, text, tool } from '../../servers/stdio.mjs';

const CC = 'io.modelcontextprotocol/clientCapabilities';
const FORM = { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] };
const count = (what) => appendFileSync(process.env.COUNTER, `${what}\n`);
const told = (arg, { action, content }) => text(`${arg}: ${action} ${content?.code ?? ''}`);
const params = (arg) => ({ message: `confirm ${arg}?`, requestedSchema: FORM });

/** Legacy: answers by the id of the question. */
const open = new Map();
let next = 0;

function legacy(arg) {
  count(arg);
  next += 1;
  const id = `q${next}`;
  return new Promise((resolve) => {
    open.set(id, (answer) =>
      resolve(answer.error ? text(`${arg}: refused ${answer.error.code}`) : told(arg, answer.result)),
    );
    send({ id, method: 'elicitation/create', params: params(arg) });
  });
}

/** Modern: '' is a state too, and none is none. */
function modern(arg, message) {
  const { inputResponses, requestState, _meta } = message.params;
  if (inputResponses?.sure !== undefined) {
    count(`again ${arg}`);
    const state = requestState === undefined ? 'none' : JSON.stringify(requestState);
    return text(`${told(arg, inputResponses.sure).content[0].text} with ${state}`);
  }
  if (_meta[CC].elicitation === undefined || (_meta[CC].elicitation.form === undefined && _meta[CC].elicitation.url)) {
    fail(message, -32021, 'This tool asks', { requiredCapabilities: { elicitation: { form: {} } } });
    return undefined;
  }
  count(arg);
  const inputRequests = { sure: { method: 'elicitation/create', params: params(arg) } };
  const state = message.params.arguments.state;
  reply(message, {
    resultType: 'input_required',
    inputRequests,
    ...(state === undefined ? {} : { requestState: state }),
  });
  return undefined;
}

serve({
  tools: [tool('confirm', { arg: { type: 'string' }, state: { type: 'string' } })],
  before(message) {
    if (message.method !== undefined) return false;
    open.get(message.id)?.(message);
    return open.delete(message.id);
  },
  call: (_name, { arg }, message) => (isModern(message) ? modern(arg, message) : legacy(arg)),
});
