// Run by a test as a manager that is going to be killed: starts one child with a grandchild and tells their pids.

import { fixture, start } from './started.ts';

const started = start(fixture('spawns-grandchild', { DETACHED: '1' }));
const grandchild = Number(await started.call('grandchild'));
console.log(JSON.stringify({ child: started.child.pid, grandchild }));
