// Rungs #17 to #19 of protocol.md §2.1: methods that are gone, and what is wrong with the params of those that are there.

import { callTool, climb, type Row } from './ladder.ts';

const ROWS: readonly Row[] = [
  { says: '#17 an unknown method is 404 (GB-054)', call: { method: 'foo/bar' }, status: 404, code: -32601, id: 1 },
  ...[
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'tasks/list',
    'tasks/result',
  ].map((method): Row => ({ says: `#17 ${method} is gone`, call: { method }, status: 404, code: -32601, id: 1 })),
  {
    says: '#18 initialize is told the served revisions',
    call: { method: 'initialize' },
    status: 404,
    code: -32601,
    id: 1,
    extra: '{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]}',
  },
  {
    says: '#18 initialize without an envelope under a modern header contradicts itself (§3.1)',
    call: {
      method: 'initialize',
      body: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}',
    },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#19 an unknown log level is refused at 200',
    call: { meta: { 'io.modelcontextprotocol/logLevel': 'loud' } },
    status: 200,
    code: -32602,
    id: 1,
  },
  {
    says: '#19 a progress token that is an object is refused at 200',
    call: { meta: { progressToken: {} } },
    status: 200,
    code: -32602,
    id: 1,
  },
  {
    says: '#19 a name that is no string is refused at 200',
    call: callTool({ 'Mcp-Name': '5' }, { name: 5 }),
    status: 200,
    code: -32602,
    id: 1,
  },
  {
    says: 'a session header and Last-Event-ID are ignored (GB-054)',
    call: { headers: { 'Mcp-Session-Id': 'zzz', 'Last-Event-ID': '3' } },
    status: 200,
    code: null,
  },
  {
    says: 'a slash at the end of the path is served (GB-147)',
    call: { path: '/acme/everything/mcp/' },
    status: 200,
    code: null,
  },
];

climb(ROWS);
