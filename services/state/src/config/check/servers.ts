// Pairs of a server's settings that cannot both be meant (design §5).

import { type Check, itemAt, itemsAt, numberAt, textAt } from '../draft.ts';

/** Of `pool.maxMemoryMb`, which is not written into the configuration so that digests stay what they are. */
const DEFAULT_MEMORY_MB = 1024;
const ASKS = ['roots', 'sampling', 'elicitation'];

export const checkServers: Check = (draft, report) => {
  for (const server of itemsAt(draft.root, 'servers')) {
    const isolation = textAt(server, 'isolation');
    if (server.value.keepsNothing === true && isolation !== 'exclusive') {
      const words = 'keepsNothing is a statement about exclusive processes: set isolation: exclusive, or take it out';
      report([...server.path, 'keepsNothing'], words);
    }
    const ask = itemAt(server, 'ask');
    for (const key of isolation === 'shared' && ask !== undefined ? ASKS : []) {
      if (ask?.value[key] !== 'caller') continue;
      const words = 'a shared server cannot ask, since nobody knows whose question it is: set never, or take it out';
      report([...server.path, 'ask', key], words);
    }
    const pool = itemAt(server, 'pool');
    const nodes = pool === undefined ? undefined : numberAt(pool, 'nodes');
    if (nodes !== undefined && nodes > 1 && isolation !== 'shared') {
      const words = 'pool.nodes is for shared servers: others have one place for each caller; take it out';
      report([...server.path, 'pool', 'nodes'], words);
    }
    const [warm, max] = pool === undefined ? [] : [numberAt(pool, 'minWarm'), numberAt(pool, 'max')];
    if (warm !== undefined && max !== undefined && warm > max) {
      report([...server.path, 'pool', 'minWarm'], 'pool.minWarm is more than pool.max: lower it, or raise max');
    }
    const stdio = itemAt(server, 'stdio');
    if (stdio !== undefined && numberAt(stdio, 'gid') !== undefined && numberAt(stdio, 'uid') === undefined) {
      report([...stdio.path, 'gid'], 'a gid needs a uid beside it: add one, or take gid out');
    }
    const [soft, hard] = pool === undefined ? [] : [numberAt(pool, 'maxMemoryMb'), numberAt(pool, 'hardMemoryMb')];
    if (hard !== undefined && hard > 0 && (soft ?? DEFAULT_MEMORY_MB) > hard) {
      const words = 'pool.hardMemoryMb is less than pool.maxMemoryMb: raise it, or lower maxMemoryMb';
      report([...server.path, 'pool', 'hardMemoryMb'], words);
    }
  }
};
