import type { Connection, Connector } from '../raise/contract.ts';
import type { Lease, Pools } from './contract.ts';
export function createPools(deps: { connector: Connector }): Pools {
  const m = new Map<string, Promise<Connection>>();
  return {
    async lease(r): Promise<Lease> {
      let p = m.get(r.key);
      if (!p) {
        p = deps.connector.connect(r.spec, r.capabilities, new AbortController().signal);
        m.set(r.key, p);
        p.then(
          (c) => c.closed.then(() => m.delete(r.key)),
          () => m.delete(r.key),
        );
      }
      return { connection: await p, release() {} };
    },
    retire() {},
    async close() {
      await Promise.all([...m.values()].map(async (p) => (await p).stop('close')));
    },
  };
}
