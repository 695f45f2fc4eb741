// A modern server that asks and keeps nothing but a key of its own process: `ask {arg}` answers with `input_required`, and
// its state can only be read by the process that wrote it; `silent` asks nothing, and wants to be called again. `SEAL=none` leaves no state at all, `SEAL=shared` one that any
// process reads. The result says which process asked and which has answered. `hold {ms}` takes
// its time, `pid` says who is there.

import { createHmac, randomBytes } from 'node:crypto';
import { fail, serve, text, tool } from './stdio.mjs';

const KEY = process.env.SEAL === 'shared' ? 'the same in each' : randomBytes(32);
const FORM = { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] };
const seal = (body) => `${body}.${createHmac('sha256', KEY).update(body).digest('hex')}`;

function opened(state) {
  const end = state.lastIndexOf('.');
  return seal(state.slice(0, end)) === state ? state.slice(0, end) : null;
}

function ask({ arg, silent }, message) {
  const { inputResponses, requestState } = message.params;
  if (inputResponses === undefined && requestState === undefined) {
    const params = { message: `confirm ${arg}?`, requestedSchema: FORM };
    const inputRequests = { k: { method: 'elicitation/create', params } };
    const asked = { resultType: 'input_required', ...(silent !== true && { inputRequests }) };
    return process.env.SEAL === 'none' ? asked : { ...asked, requestState: seal(`${process.pid}:${arg}`) };
  }
  const body = requestState === undefined ? `${process.pid}:${arg}` : opened(requestState);
  if (body === null) {
    fail(message, -32602, 'This state is not mine');
    return undefined;
  }
  return text(`${body} → ${process.pid} ${inputResponses?.k.content?.code ?? 'ok'}`);
}

const hold = async ({ ms }) => {
  await new Promise((done) => setTimeout(done, ms));
  return text('held');
};
const TOOLS = { ask, hold, pid: () => text(process.pid) };

serve({
  era: 'modern',
  tools: [tool('ask', { arg: {}, silent: {} }), tool('hold', { ms: {} }), tool('pid')],
  call: (name, args, message) => TOOLS[name](args, message),
});
