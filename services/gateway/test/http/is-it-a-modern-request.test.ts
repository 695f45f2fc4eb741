// Rungs #12 to #14 of protocol.md §2.1: does the version header say what the envelope says, and is it one we serve?

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bare, climb, envelope, type Row, rig } from './ladder.ts';
import { CC, modernParts, PV, send } from './rig.ts';

const ROWS: readonly Row[] = [
  {
    says: '#12 a missing version header is refused',
    call: { headers: { 'MCP-Protocol-Version': null } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#12 a version header that differs is refused',
    call: { headers: { 'MCP-Protocol-Version': '2025-11-25' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#12 two version headers are refused',
    call: { headers: { 'MCP-Protocol-Version': '2026-07-28', 'mcp-protocol-version': '2026-07-28' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  { says: '#12 comes before #14', call: { meta: { [PV]: 'v999.0.0' } }, status: 400, code: -32020, id: 1 },
  {
    says: '#13 no params under a modern header is refused',
    call: { body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' },
    status: 400,
    code: -32602,
    id: 1,
  },
  { says: '#13 no _meta is refused', call: { body: bare({}) }, status: 400, code: -32602, id: 1 },
  {
    says: '#13 a _meta that is no object is refused',
    call: { body: bare({ _meta: 'x' }) },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#13 no revision in the envelope is refused',
    call: { body: bare({ _meta: { [CC]: {} } }) },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#13 a revision that is no string is refused',
    call: { meta: { [PV]: 20260728 } },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#13 no capabilities are refused',
    call: { body: bare({ _meta: { [PV]: '2026-07-28' } }) },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#13 capabilities that are an array are refused',
    call: { meta: { [CC]: [] } },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#13 a capability that is no object is refused',
    call: { meta: { [CC]: { sampling: true } } },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#13 comes before #15',
    call: { body: bare({}), headers: { 'Mcp-Method': null } },
    status: 400,
    code: -32602,
    id: 1,
  },
  {
    says: '#14 an unknown revision is refused with the list',
    call: { meta: { [PV]: 'v999.0.0' }, headers: { 'MCP-Protocol-Version': 'v999.0.0' } },
    status: 400,
    code: -32022,
    id: 1,
    extra: '{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"v999.0.0"}',
  },
  {
    says: '#14 a legacy revision in an envelope is sent to modern ones only (Part 7 #6)',
    call: { meta: { [PV]: '2025-11-25' }, headers: { 'MCP-Protocol-Version': '2025-11-25' } },
    status: 400,
    code: -32022,
    id: 1,
    extra: '{"supported":["2026-07-28"],"requested":"2025-11-25"}',
  },
  {
    says: '#14 a modern-only route lists itself only',
    call: { path: '/acme/modern/mcp', meta: { [PV]: '2027-01-01' }, headers: { 'MCP-Protocol-Version': '2027-01-01' } },
    status: 400,
    code: -32022,
    id: 1,
    extra: '{"supported":["2026-07-28"],"requested":"2027-01-01"}',
  },
  {
    says: '#14 comes before #15',
    call: { meta: { [PV]: 'x' }, headers: { 'MCP-Protocol-Version': 'x', 'Mcp-Method': null } },
    status: 400,
    code: -32022,
    id: 1,
  },
];

climb(ROWS);

test('a notification is taken with 202 and nothing else, whatever its headers', async () => {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { _meta: envelope, requestId: 1 },
  });
  const { start, lines } = modernParts({ headers: { 'Mcp-Method': null } });
  const reply = await send(rig.port, start, lines, body);
  assert.deepEqual([reply.status, reply.body], [202, '']);
});
