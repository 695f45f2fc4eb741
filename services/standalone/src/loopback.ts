// In one process the link is nobody else's: a free port on loopback, whatever the file says.

import type { ConfigSource, Snapshot } from '@lockkeeper/protocol/config/settings';

export function onLoopback(config: ConfigSource): ConfigSource {
  const inside = (snapshot: Snapshot): Snapshot => {
    const { advertise: _unused, socketDir: _neither, ...link } = snapshot.link;
    return { ...snapshot, link: { ...link, host: '127.0.0.1', port: 0 } };
  };
  return {
    current: () => inside(config.current()),
    onChange: (listener) => config.onChange((next, previous) => listener(inside(next), inside(previous))),
  };
}
