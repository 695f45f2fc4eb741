// The legacy server of the matrix over stdio.

import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createLegacyServer } from './legacy-server.ts';

await createLegacyServer().connect(new StdioServerTransport());
