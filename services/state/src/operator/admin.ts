// The operator's port of any service (design §9): three questions that must not be mixed up, the metrics, and on a node
// the processes. Liveness never asks an upstream nor Redis; readiness asks whether work can be taken; startup whether the
// first configuration stands. What only reads is open to whoever reaches the port; what changes something wants the token.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import { ORDERS, type PoolOperator, type Whom } from './contract.ts';

export interface AdminServer {
  listen(host: string, port: number): Promise<number>;
  close(): Promise<void>;
}

export interface AdminDeps {
  readonly registry: { readonly contentType: string; metrics(): Promise<string> };
  /** Empty: ready. Else why not, for a person. */
  readonly notReady: () => readonly string[];
  readonly started: () => boolean;
  /** Of a node in this process. */
  readonly pools?: PoolOperator | undefined;
  /** `listen.adminToken`; undefined: nothing can be changed. */
  readonly token: () => string | undefined;
}

const MAX_BODY_BYTES = 4096;

export function createAdminServer(deps: AdminDeps): AdminServer {
  const { registry, notReady, started, pools } = deps;
  const app = fastify({ logger: false, forceCloseConnections: true, bodyLimit: MAX_BODY_BYTES });
  app.get('/livez', (_request, reply) => reply.send({ status: 'ok' }));
  app.get('/readyz', (_request, reply) => {
    const why = notReady();
    return reply.code(why.length === 0 ? 200 : 503).send({ status: why.length === 0 ? 'ok' : 'not ready', why });
  });
  app.get('/startupz', (_request, reply) =>
    reply.code(started() ? 200 : 503).send({ status: started() ? 'ok' : 'starting' }),
  );
  app.get('/metrics', async (_request, reply) => reply.type(registry.contentType).send(await registry.metrics()));
  if (pools !== undefined) addPools(app, pools, deps.token);
  return {
    async listen(host, port) {
      await app.listen({ host, port });
      return (app.server.address() as AddressInfo).port;
    },
    close: () => app.close(),
  };
}

function addPools(app: FastifyInstance, pools: PoolOperator, token: AdminDeps['token']): void {
  app.get('/pools', (_request, reply) => reply.send(pools.list()));
  for (const order of ORDERS) {
    app.post(
      `/pools/${order}`,
      { onRequest: async (request, reply) => admit(request.headers, token(), reply) },
      (request, reply) => {
        const whom = whomIn(request.body);
        if (whom === null) return reply.code(400).send({ error: 'give {"id"} or {"tenant", "server"} as JSON' });
        const done = pools.order(order, whom);
        if (done.length === 0) return reply.code(404).send({ error: 'there is no such process here' });
        return reply.send({ order, processes: done });
      },
    );
  }
}

/** Loopback is no proof: any program of the machine is there, and pages in its browsers reach it. */
function admit(
  headers: { readonly authorization?: string | undefined },
  token: string | undefined,
  reply: FastifyReply,
): unknown {
  if (token === undefined) {
    return reply.code(403).send({ error: 'nothing can be changed here: set listen.adminToken' });
  }
  const shown = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (shown !== undefined && timingSafeEqual(digest(shown), digest(token))) return undefined;
  return reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'show listen.adminToken as Bearer token' });
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function whomIn(body: unknown): Whom | null {
  if (typeof body !== 'object' || body === null) return null;
  const { id, tenant, server } = body as Record<string, unknown>;
  if (typeof id === 'string' && tenant === undefined && server === undefined) return { id };
  if (id === undefined && typeof tenant === 'string' && typeof server === 'string') return { tenant, server };
  return null;
}
