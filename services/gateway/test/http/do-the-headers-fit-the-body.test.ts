// Rungs #15 and #16 of protocol.md §2.1: Mcp-Method and Mcp-Name, plain and encoded, beside the method and the name.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { callTool, climb, type Row, rig, text } from './ladder.ts';
import { modernParts, send } from './rig.ts';

const ROWS: readonly Row[] = [
  {
    says: '#15 a missing Mcp-Method is refused',
    call: { headers: { 'Mcp-Method': null } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#15 an Mcp-Method that differs is refused (GB-045)',
    call: { method: 'server/discover', headers: { 'Mcp-Method': 'initialize' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#15 values are case-sensitive',
    call: { headers: { 'Mcp-Method': 'Tools/List' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#15 names of headers are not case-sensitive (GB-052 g)',
    call: { headers: { 'Mcp-Method': null, 'mCp-mEtHoD': 'tools/list' } },
    status: 200,
    code: null,
  },
  {
    says: '#15 comes before #17',
    call: { method: 'foo/bar', headers: { 'Mcp-Method': 'tools/list' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  { says: '#16 a missing Mcp-Name is refused', call: callTool({}), status: 400, code: -32020, id: 1 },
  {
    says: '#16 an Mcp-Name that differs is refused (GB-052 a)',
    call: callTool({ 'Mcp-Name': 'safe' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 two Mcp-Name headers are refused (GB-052 f)',
    call: callTool({ 'Mcp-Name': 'echo', 'mcp-name': 'echo' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  { says: '#16 an equal Mcp-Name is served', call: callTool({ 'Mcp-Name': 'echo' }), status: 200, code: null },
  { says: '#16 blanks around it do not count', call: callTool({ 'Mcp-Name': '  echo  ' }), status: 200, code: null },
  { says: '#16 base64 is decoded (GB-047)', call: callTool({ 'Mcp-Name': text('echo') }), status: 200, code: null },
  {
    says: '#16 a non-ASCII URI is decoded (GB-047)',
    call: {
      method: 'resources/read',
      params: { uri: 'file:///docs/übersicht.md' },
      headers: { 'Mcp-Name': '=?base64?ZmlsZTovLy9kb2NzL8O8YmVyc2ljaHQubWQ=?=' },
    },
    status: 200,
    code: null,
  },
  {
    says: '#16 bad base64 is refused (GB-047)',
    call: callTool({ 'Mcp-Name': '=?base64?!!!?=' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 the marker is case-sensitive (GB-047)',
    call: callTool({ 'Mcp-Name': '=?BASE64?ZWNobw==?=' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 base64 of no UTF-8 is refused (GB-047)',
    call: callTool({ 'Mcp-Name': '=?base64?/w==?=' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 a name that looks like a sentinel is served encoded (GB-048)',
    call: callTool({ 'Mcp-Name': text('=?base64?literal?=') }, { name: '=?base64?literal?=' }),
    status: 200,
    code: null,
  },
  {
    says: '#16 a name that looks like a sentinel is refused plain (GB-048)',
    call: callTool({ 'Mcp-Name': '=?base64?literal?=' }, { name: '=?base64?literal?=' }),
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 prompts/get needs it',
    call: { method: 'prompts/get', params: { name: 'p' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 resources/read needs it',
    call: { method: 'resources/read', params: { uri: 'a:b' } },
    status: 400,
    code: -32020,
    id: 1,
  },
  {
    says: '#16 tasks/get may lack it (Part 7 #7)',
    call: { method: 'tasks/get', params: { taskId: 't' } },
    status: 200,
    code: null,
  },
  {
    says: '#16 tasks/get must not have another (Part 7 #7)',
    call: { method: 'tasks/get', params: { taskId: 't' }, headers: { 'Mcp-Name': 'u' } },
    status: 400,
    code: -32020,
    id: 1,
  },
];

climb(ROWS);

test('a refusal for one request is no mark against the next (GB-045)', async () => {
  const bad = modernParts({ method: 'server/discover', headers: { 'Mcp-Method': 'initialize' } });
  const good = modernParts({});
  assert.equal((await send(rig.port, bad.start, bad.lines, bad.body)).status, 400);
  assert.equal((await send(rig.port, good.start, good.lines, good.body)).status, 200);
});
