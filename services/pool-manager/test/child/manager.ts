// Run by a test as a manager that is going to be killed: starts one child with a grandchild and tells their pids. GUARD=1:
// with a guard, as in a service.

import { tmpdir } from 'node:os';
import { createGuard } from '../../src/child/end/guard.ts';
import { processName } from '../../src/child/end/marks.ts';
import { fixture, start, testSpawn } from './started.ts';

const path = process.env.PATH ?? '/usr/bin:/bin';
const guard = process.env.GUARD === '1' ? createGuard({ self: processName('self')!, path, tmpDir: tmpdir() }) : null;
const started = start(fixture('spawns-grandchild', { DETACHED: '1' }), testSpawn({ guard }));
const grandchild = Number(await started.call('grandchild'));
console.log(JSON.stringify({ child: started.child.pid, grandchild }));
