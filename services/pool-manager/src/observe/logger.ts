// What a pool manager may say of itself: no argument, result, environment or specification. What a server said on stderr
// comes redacted by child/.

import { createLines, type LineSink } from '@lockkeeper/state/log/lines';
import { cleanTail } from '@lockkeeper/state/log/text';
import type { Log } from '../raise/contract.ts';

const FIELDS = [
  ...['xid', 'tenant', 'server', 'era', 'method', 'reason', 'evidence', 'audit', 'kind', 'detail', 'what', 'why'],
  ...['count', 'ms', 'bytes', 'pid', 'code', 'signal', 'node', 'incarnation', 'host', 'port', 'stderr'],
];
const MAX_STDERR = 16 * 1024;

export interface Logging {
  readonly log: Log;
  /** Resolves when everything is written out. */
  flush(): Promise<void>;
}

export function createLogging(options: { readonly level: string; readonly stream?: LineSink }): Logging {
  const lines = createLines({
    level: options.level,
    service: 'pool-manager',
    fields: FIELDS,
    shown: { stderr: (text) => cleanTail(text, MAX_STDERR) },
    writes: 'at-once',
    sink: options.stream,
  });
  return {
    log: {
      debug: (fields, words) => lines.say('debug', words, fields),
      info: (fields, words) => lines.say('info', words, fields),
      warn: (fields, words) => lines.say('warn', words, fields),
    },
    flush: lines.flush,
  };
}
