// The operator's port (design §9): three questions that must not be mixed up, and the metrics. Liveness never asks an
// upstream nor Redis; readiness asks whether work can be taken; startup whether the first configuration stands.

import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import type { Registry } from 'prom-client';

export interface AdminServer {
  listen(host: string, port: number): Promise<number>;
  close(): Promise<void>;
}

export interface AdminDeps {
  readonly registry: Registry;
  /** Empty: ready. Else why not, for a person. */
  readonly notReady: () => readonly string[];
  readonly started: () => boolean;
}

export function createAdminServer({ registry, notReady, started }: AdminDeps): AdminServer {
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
  return {
    async listen(host, port) {
      await app.listen({ host, port });
      return (app.server.address() as AddressInfo).port;
    },
    close: () => app.close(),
  };
}
