// The yardstick: a bare Fastify that parses the same request and says the same answer, with no MCP in it.

import { fastify } from 'fastify';

interface Body {
  readonly id: string | number;
  readonly params: { readonly arguments: { readonly text: string } };
}

const app = fastify({ bodyLimit: 64 * 1024 * 1024 });
app.post('/mcp', (request, reply) => {
  const { id, params } = request.body as Body;
  const content = [{ type: 'text', text: params.arguments.text }];
  reply.send({ jsonrpc: '2.0', id, result: { resultType: 'complete', content } });
});
const url = await app.listen({ host: '127.0.0.1', port: 0 });
console.log(JSON.stringify({ ready: true, url }));
