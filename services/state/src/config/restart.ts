// What a reload cannot change: sockets that are bound, the store that is in use, the peers that are joined. The running
// process keeps what it started with, and the snapshot says so.

import type { Snapshot } from '@lockkeeper/protocol/config/settings';

const FIXED_LISTEN = ['host', 'port', 'adminHost', 'adminPort', 'trustProxy'] as const;
const FIXED_LINK = ['host', 'port', 'advertise', 'socketDir', 'adminPort', 'secret'] as const;

/** Settings whose change waits for a restart, by name only: some are secrets. */
export function needsRestart(running: Snapshot, next: Snapshot): string[] {
  return [
    ...FIXED_LISTEN.filter((key) => running.listen[key] !== next.listen[key]).map((key) => `listen.${key}`),
    ...(urlOf(running.state) === urlOf(next.state) ? [] : ['state']),
    ...(running.children.cgroup === next.children.cgroup ? [] : ['children.cgroup']),
    ...FIXED_LINK.filter((key) => running.link[key] !== next.link[key]).map((key) => `link.${key}`),
  ];
}

/** `next`, with what the process really runs on. */
export function asRunning(running: Snapshot, next: Snapshot): Snapshot {
  const { host, port, adminHost, adminPort, trustProxy } = running.listen;
  const listen = Object.freeze({ ...next.listen, host, port, adminHost, adminPort, trustProxy });
  return Object.freeze({ ...next, listen, state: running.state, link: running.link, children: running.children });
}

function urlOf(state: Snapshot['state']): string {
  return state.kind === 'redis' ? state.url : 'memory';
}
