// The operator's port of a node (design §9): three questions that must not be mixed up, the metrics, and the processes
// that live here. Liveness never asks an upstream nor Redis. No names of persons on it.

import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import type { Registry } from 'prom-client';
import type { PoolRow } from '../pool/stats.ts';

export interface AdminServer {
  listen(host: string, port: number): Promise<number>;
  close(): Promise<void>;
}

export interface AdminDeps {
  readonly registry: Registry;
  /** Empty: ready. Else why not, for a person. */
  readonly notReady: () => readonly string[];
  readonly started: () => boolean;
  readonly pools: () => readonly PoolRow[];
}

export function createAdminServer({ registry, notReady, started, pools }: AdminDeps): AdminServer {
  const app = fastify({ logger: false, forceCloseConnections: true });
  app.get('/livez', (_request, reply) => reply.send({ status: 'ok' }));
  app.get('/readyz', (_request, reply) => {
    const why = notReady();
    return reply.code(why.length === 0 ? 200 : 503).send({ status: why.length === 0 ? 'ok' : 'not ready', why });
  });
  app.get('/startupz', (_request, reply) =>
    reply.code(started() ? 200 : 503).send({ status: started() ? 'ok' : 'starting' }),
  );
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));
  app.get('/pools', (_request, reply) => reply.send({ processes: pools() }));
  return {
    async listen(host, port) {
      await app.listen({ host, port });
      return (app.server.address() as AddressInfo).port;
    },
    close: () => app.close(),
  };
}
