// How many processes may live on this node beside the size of each pool: of one server, of one tenant, in all (design §5).
// Sessions with servers by URL are no processes: they have a cap of their own and take no process's place.

import { type Limits, type ServerSpec, serverId } from '@lockkeeper/protocol/config/settings';

export type CapLimits = Pick<Limits, 'maxPerServer' | 'maxPerTenant' | 'maxPerNode'>;
export type FullCap = 'server-full' | 'tenant-full' | 'node-full';

export class Caps {
  private readonly limits: () => CapLimits;
  private readonly servers = new Map<string, number>();
  private readonly tenants = new Map<string, number>();
  private total = 0;

  constructor(limits: () => CapLimits) {
    this.limits = limits;
  }

  /** Which cap stands against one more process, or null. */
  full(spec: ServerSpec): FullCap | null {
    const { maxPerServer, maxPerTenant, maxPerNode } = this.limits();
    const cap = spec.http?.maxSessions ?? maxPerServer;
    if (this.ofServer(spec) >= cap) return 'server-full';
    if (spec.http !== undefined) return null;
    if (this.ofTenant(spec.tenant) >= maxPerTenant) return 'tenant-full';
    return this.total >= maxPerNode ? 'node-full' : null;
  }

  ofServer({ tenant, name }: ServerSpec): number {
    return this.servers.get(serverId(tenant, name)) ?? 0;
  }

  ofTenant(tenant: string): number {
    return this.tenants.get(tenant) ?? 0;
  }

  add(spec: ServerSpec): void {
    this.count(spec, 1);
  }

  remove(spec: ServerSpec): void {
    this.count(spec, -1);
  }

  private count(spec: ServerSpec, by: 1 | -1): void {
    bump(this.servers, serverId(spec.tenant, spec.name), by);
    if (spec.http !== undefined) return;
    this.total += by;
    bump(this.tenants, spec.tenant, by);
  }
}

function bump(counts: Map<string, number>, key: string, by: number): void {
  const next = (counts.get(key) ?? 0) + by;
  if (next === 0) counts.delete(key);
  else counts.set(key, next);
}
