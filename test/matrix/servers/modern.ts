// The modern server of the matrix over stdio; it speaks 2026-07-28 only.

import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createModernServer } from './modern-server.ts';

serveStdio(() => createModernServer(), { legacy: 'reject' });
