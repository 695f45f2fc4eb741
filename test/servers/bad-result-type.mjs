// Modern. Tool `unknown` answers with resultType "banana", `absent` without one, `task` with "task" nobody negotiated,
// `empty` with input_required and neither questions nor state, `asks` with a stray wire request first (GB-057).
import { ECHO, echo, send, serve, text, tool } from './stdio.mjs';

const RESULTS = {
  unknown: { ...text('unknown'), resultType: 'banana' },
  absent: { ...text('absent'), resultType: undefined },
  task: { resultType: 'task', taskId: 't1', status: 'working', ttlMs: null },
  empty: { resultType: 'input_required' },
};

serve({
  era: 'modern',
  tools: [ECHO, tool('asks'), ...Object.keys(RESULTS).map((name) => tool(name))],
  call(name, args) {
    if (name === 'asks') {
      send({ id: 'q1', method: 'roots/list' });
      return text('asked');
    }
    return name === 'echo' ? echo(name, args) : RESULTS[name];
  },
});
