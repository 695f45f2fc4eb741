// Answers `initialize` wrongly. MODE=version (default): a revision nobody knows; missing: no protocolVersion; shape: a
// string instead of an object; error: -32000 "not today"; capabilities: capabilities is an array.
import { fail, send, serve } from './stdio.mjs';

const good = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'fixture', version: '1' },
};
const RESULTS = {
  version: { ...good, protocolVersion: '1999-12-31' },
  missing: { ...good, protocolVersion: undefined },
  shape: 'hello',
  capabilities: { ...good, capabilities: [] },
};

serve({
  before(message) {
    if (message.method !== 'initialize') return false;
    const mode = process.env.MODE ?? 'version';
    if (mode === 'error') fail(message, -32000, 'not today');
    else send({ id: message.id, result: RESULTS[mode] });
    return true;
  },
});
