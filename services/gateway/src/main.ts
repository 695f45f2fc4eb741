// The gateway as a process: arguments and signals in, one ready line and an exit code out.

import { systemClock } from '@lockkeeper/state/clock';
import { createStore } from '@lockkeeper/state/create-store';
import { runService } from '@lockkeeper/state/process/run';
import { createGateway } from './app.ts';
import { createLogging } from './observe/logger.ts';

await runService('gateway', async (config, tell) => {
  const snapshot = config.current();
  const logging = createLogging({ level: snapshot.log.level, service: 'gateway' });
  tell.by((words) => logging.log.warn(words), logging.flush);
  if (snapshot.state.kind === 'memory') {
    throw new Error('state: memory cannot be shared by processes; set state: redis://… or run standalone (npm start)');
  }
  const store = createStore(snapshot.state, { clock: systemClock, warn: (words) => logging.log.warn(words) });
  const gateway = await createGateway({ config, store, clock: systemClock, logging, processMetrics: true });
  const { port, adminPort } = await gateway.start();
  return {
    ready: { url: `http://${snapshot.listen.host}:${port}`, admin: `http://${snapshot.listen.adminHost}:${adminPort}` },
    close: async () => {
      const { drainMs, drainLeadMs } = config.current().limits;
      await gateway.close(drainMs, drainLeadMs);
      await store.close();
      await logging.flush();
    },
  };
});
