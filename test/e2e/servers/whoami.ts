// A legacy stdio server that tells which process it is and who started it, so that tests can see who shares one.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const server = new Server({ name: 'whoami', version: '1.0.0' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: [{ name: 'whoami', description: 'Tells the process.', inputSchema: { type: 'object' as const } }],
}));
server.setRequestHandler(CallToolRequestSchema, () => ({
  content: [{ type: 'text', text: `${process.pid} ${process.ppid}` }],
}));
await server.connect(new StdioServerTransport());
