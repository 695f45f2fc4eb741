// The pool manager as a process: arguments and signals in, one ready line and an exit code out.

import { systemClock } from '@lockkeeper/state/clock';
import { createJobs, createStore } from '@lockkeeper/state/create-store';
import { runService } from '@lockkeeper/state/process/run';
import { createPoolManager } from './app.ts';
import { hostOf } from './child/host.ts';
import { closeInherited } from './child/inherited.ts';
import { createLogging } from './observe/logger.ts';

closeInherited(process.env.NODE_CHANNEL_FD);
await runService('pool-manager', async (config, tell) => {
  const snapshot = config.current();
  const { log, flush } = createLogging({ level: snapshot.log.level });
  tell.by((words) => log.warn({}, words), flush);
  if (snapshot.state.kind === 'memory') {
    throw new Error('state: memory cannot be shared by processes; set state: redis://… or run standalone (npm start)');
  }
  const store = createStore(snapshot.state, { clock: systemClock, warn: (words) => log.warn({}, words) });
  const jobs = createJobs(snapshot.state, { clock: systemClock, warn: (words) => log.warn({}, words) });
  const manager = await createPoolManager({ config, store, jobs, clock: systemClock, log, host: hostOf(process.env) });
  const { address, nodeId, adminPort } = await manager.start();
  return {
    ready: { link: address, node: nodeId, admin: `http://${snapshot.listen.adminHost}:${adminPort}` },
    hurry: manager.hurry,
    close: async () => {
      const { drainMs, drainHumanMs } = config.current().limits;
      await manager.close(drainMs, drainHumanMs);
      await jobs.close();
      await store.close();
      await flush();
    },
  };
});
