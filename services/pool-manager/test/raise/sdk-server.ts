// A server made with the published SDK as its documentation shows it: one tool, both eras, over stdio.

import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'sdk', version: '1.0.0' });
  server.registerTool('greet', { inputSchema: z.object({ who: z.string() }) }, ({ who }) => ({
    content: [{ type: 'text', text: `Hello, ${who}` }],
  }));
  return server;
});
