// No bad habit: tool `error {code, message, data}` answers with that JSON-RPC error, `is-error` with a result that says
// isError with structuredContent, `exact` with numbers and key order that a re-serialiser would change.
import { fail, isModern, serve, text, tool, write } from './stdio.mjs';

serve({
  tools: [tool('error', { code: { type: 'integer' } }), tool('is-error'), tool('exact')],
  call(name, args, message) {
    if (name === 'error') return fail(message, args.code ?? -32000, args.message ?? 'nope', args.data);
    if (name === 'is-error') return { ...text('bad'), isError: true, structuredContent: { code: 7 } };
    const type = isModern(message) ? '"resultType":"complete",' : '';
    write(
      `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{${type}"content":[],` +
        '"z":1.0,"a":12345678901234567890,"10":"ten","2":"two","u":"\\u00e9\\/"}}',
    );
  },
});
