// A legacy server whose one tool asks its person so many times, one question after another, and says how often it ran.
import { appendFileSync } from 'node:fs';
import { lines, send, text } from '../../servers/stdio.mjs';

const waiting = new Map();
let asked = 0;

const ask = (message) =>
  new Promise((resolve) => {
    const id = `q${++asked}`;
    waiting.set(id, resolve);
    const requestedSchema = { type: 'object', properties: { answer: { type: 'string' } } };
    send({ id, method: 'elicitation/create', params: { message, requestedSchema } });
  });

async function call({ id, params }) {
  if (process.env.COUNTER) appendFileSync(process.env.COUNTER, 'ran\n');
  const said = [];
  for (let i = 1; i <= (params.arguments?.times ?? 1); i++) {
    const { action, content } = await ask(`Question ${i}?`);
    said.push(action === 'accept' ? content.answer : action);
  }
  send({ id, result: text(said.join(' ')) });
}

lines((message) => {
  const { id, method, result, params } = message;
  if (method === undefined) return waiting.get(id)?.(result ?? { action: 'cancel' });
  if (method === 'initialize') {
    const info = { capabilities: { tools: {} }, serverInfo: { name: 'asks-often', version: '1' } };
    return send({ id, result: { protocolVersion: params.protocolVersion, ...info } });
  }
  if (method === 'tools/list')
    return send({ id, result: { tools: [{ name: 'ask', inputSchema: { type: 'object' } }] } });
  if (method === 'tools/call') return void call(message);
  if (id !== undefined) send({ id, error: { code: -32601, message: 'Method not found' } });
});
