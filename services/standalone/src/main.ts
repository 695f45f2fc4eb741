// One process that is both services, joined by the same link over loopback (design §2). For trying Lockkeeper out and
// for single machines; with `state: memory` nothing outlives it.

import { createGateway } from '@lockkeeper/gateway/app';
import { createLogging } from '@lockkeeper/gateway/observe/logger';
import { createPoolManager } from '@lockkeeper/pool-manager/app';
import { hostOf } from '@lockkeeper/pool-manager/child/host';
import { closeInherited } from '@lockkeeper/pool-manager/child/inherited';
import { createLogging as createNodeLogging } from '@lockkeeper/pool-manager/observe/logger';
import { systemClock } from '@lockkeeper/state/clock';
import { createJobs, createStore } from '@lockkeeper/state/create-store';
import { randomToken } from '@lockkeeper/state/nodes/proving';
import { runService } from '@lockkeeper/state/process/run';
import { banner } from './banner.ts';
import { onLoopback } from './loopback.ts';

closeInherited(process.env.NODE_CHANNEL_FD);
await runService('standalone', async (config, tell) => {
  const snapshot = config.current();
  const logging = createLogging({ level: snapshot.log.level, service: 'gateway' });
  const nodeLogging = createNodeLogging({ level: snapshot.log.level });
  tell.by(
    (words) => logging.log.warn(words),
    async () => {
      await nodeLogging.flush();
      await logging.flush();
    },
  );
  const clock = systemClock;
  const store = createStore(snapshot.state, { clock, warn: (words) => logging.log.warn(words) });
  const jobs = createJobs(snapshot.state, { clock, warn: (words) => logging.log.warn(words) });
  const linkSecret = randomToken();
  const manager = await createPoolManager({
    ...{ store, jobs, clock, linkSecret },
    admin: 'elsewhere',
    config: onLoopback(config),
    log: nodeLogging.log,
    host: hostOf(process.env),
  });
  await manager.start();
  const gateway = await createGateway({
    ...{ config, store, clock, logging, linkSecret },
    processMetrics: true,
    alsoMetrics: manager.metrics,
    alsoPools: manager.operator,
  });
  const { port, adminPort } = await gateway.start();
  const { host, adminHost } = snapshot.listen;
  const [url, admin] = [`http://${host}:${port}`, `http://${adminHost}:${adminPort}`];
  return {
    ready: { url, admin },
    banner: banner(snapshot, url, admin),
    close: async () => {
      const { drainMs } = config.current().limits;
      await gateway.close(drainMs);
      await manager.close(drainMs);
      await jobs.close();
      await store.close();
      await logging.flush();
      await nodeLogging.flush();
    },
  };
});
