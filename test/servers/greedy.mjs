// Takes more than its share: `grow {mb}` keeps memory and answers, `hoard {mb}` keeps memory and never answers, `flood`
// writes log notifications without end, `spin` turns in circles after its answer. `self` tells what it is held to: JSON
// of {uid, gid, groups, noNewPrivs, limits, cwd, home, fds, cgroup}. HOARD_MB: it keeps so much and never says a word.
import { readdirSync, readFileSync } from 'node:fs';
import { ECHO, echo, notify, serve, text, tool } from './stdio.mjs';

const kept = [];
const grow = (mb) => kept.push(Buffer.alloc(mb * 1024 * 1024, 1));
const read = (name) => readFileSync(`/proc/self/${name}`, 'utf8');

function flood() {
  for (let i = 0; i < 500; i++) notify('notifications/message', { level: 'debug', data: 'more and more' });
  setImmediate(flood);
}

function self() {
  const limits = read('limits').split('\n').slice(1).filter(Boolean);
  const status = Object.fromEntries(
    read('status')
      .split('\n')
      .map((line) => line.split(':\t')),
  );
  return JSON.stringify({
    uid: process.getuid(),
    gid: process.getgid(),
    groups: process.getgroups(),
    noNewPrivs: status.NoNewPrivs,
    limits: Object.fromEntries(limits.map((line) => [line.slice(0, 26).trim(), line.slice(26, 47).trim()])),
    cwd: process.cwd(),
    home: process.env.HOME,
    fds: readdirSync('/proc/self/fd').map(Number),
    cgroup: read('cgroup'),
  });
}

if (process.env.HOARD_MB !== undefined) {
  grow(Number(process.env.HOARD_MB));
  for (;;) await new Promise((resolve) => setTimeout(resolve, 60_000));
}

serve({
  capabilities: { logging: {} },
  tools: [ECHO, tool('grow', { mb: {} }), tool('hoard', { mb: {} }), tool('flood'), tool('spin'), tool('self')],
  methods: { 'logging/setLevel': () => ({}) },
  call(name, args) {
    if (name === 'echo') return echo(name, args);
    if (name === 'self') return text(self());
    if (name === 'spin')
      setTimeout(() => {
        for (;;);
      }, 50);
    if (name === 'flood') flood();
    if (name === 'grow' || name === 'hoard') grow(args.mb);
    return name === 'hoard' || name === 'flood' ? undefined : text('done');
  },
});
