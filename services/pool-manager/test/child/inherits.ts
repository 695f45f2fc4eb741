// Run by a test with a descriptor that it did not open: tells which ones its child has.

import { closeInherited } from '../../src/child/inherited.ts';
import { fixture, start } from './started.ts';

closeInherited(process.env.NODE_CHANNEL_FD);
const started = start(fixture('greedy'));
const { fds } = JSON.parse(await started.call('self')) as { fds: number[] };
console.log(JSON.stringify(fds));
await started.child.stop('told');
