// Run by a test as a manager that is going to be killed: starts one child with a grandchild and tells their pids. GUARD=1:
// with a guard, as in a service. DAEMON=1: the grandchild is a daemon that has emptied its environment.

import { tmpdir } from 'node:os';
import { createGuard } from '../../src/child/end/guard.ts';
import { processName } from '../../src/child/end/marks.ts';
import { fixture, start, testSpawn } from './started.ts';

const path = process.env.PATH ?? '/usr/bin:/bin';
const guard = process.env.GUARD === '1' ? createGuard({ self: processName('self')!, path, tmpDir: tmpdir() }) : null;
const isDaemon = process.env.DAEMON === '1';
const server = isDaemon ? fixture('starts-daemon') : fixture('spawns-grandchild', { DETACHED: '1' });
const started = start(server, testSpawn({ guard }));
const grandchild = Number(await started.call(isDaemon ? 'daemon' : 'grandchild'));
console.log(JSON.stringify({ child: started.child.pid, grandchild }));
