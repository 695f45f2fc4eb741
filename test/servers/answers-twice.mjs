// Answers wrongly by id (GB-082): tool `twice` answers two times (the second with text "second"), `unknown` first sends an
// answer to an id nobody used, `string` answers the id as a string, `null` as null, `zero` as 0; `echo` works.
import { ECHO, echo, reply, send, serve, text, tool } from './stdio.mjs';

serve({
  tools: [ECHO, tool('twice'), tool('unknown'), tool('string'), tool('null'), tool('zero')],
  call(name, args, message) {
    const wrong = { string: String(message.id), null: null, zero: 0 };
    if (name in wrong) {
      send({ id: wrong[name], result: text(name) });
      return undefined;
    }
    if (name === 'twice') setImmediate(() => reply(message, text('second')));
    if (name === 'unknown') send({ id: 987654321, result: text('nobody asked') });
    return name === 'echo' ? echo(name, args) : text('first');
  },
});
