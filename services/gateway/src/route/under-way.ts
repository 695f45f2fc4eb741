// The calls that servers are working at for this replica, so that a reload ends those whose route, server or permission
// it takes away (design §5 "Reload": removal or revocation ends it now). A changed server keeps its calls.

import { type Snapshot, serverId } from '@lockkeeper/protocol/config/settings';
import { Roster, type Seated } from '@lockkeeper/protocol/roster';
import type { Exchange } from '../exchange.ts';
import { decide, type Kind } from '../policy/decide.ts';

export interface CallUnderWay {
  readonly exchange: Exchange;
  /** As the node knows it. */
  readonly xid: string;
  readonly server: string;
  readonly kind: Kind | null;
  readonly name: string;
}

export interface UnderWay {
  begin(call: CallUnderWay): Ending;
  reload(next: Snapshot): void;
}

export interface Ending {
  /** It was taken away while it ran. */
  readonly revoked: boolean;
  over(): void;
}

class Running implements Ending, Seated {
  seat = -1;
  revoked = false;
  readonly call: CallUnderWay;
  private readonly running: Roster<Running>;

  constructor(call: CallUnderWay, running: Roster<Running>) {
    this.call = call;
    this.running = running;
    running.add(this);
  }

  over(): void {
    this.running.delete(this);
  }
}

export function createUnderWay(cancel: (call: CallUnderWay) => void): UnderWay {
  const running = new Roster<Running>();
  return {
    begin: (call) => new Running(call, running),
    reload(next) {
      for (const one of running.all()) {
        if (one.revoked || stands(next, one.call)) continue;
        one.revoked = true;
        cancel(one.call);
      }
    },
  };
}

function stands(next: Snapshot, { exchange, server, kind, name }: CallUnderWay): boolean {
  const { path, tenant } = exchange.route;
  const route = next.routes.find((r) => r.path === path && r.tenant === tenant);
  if (route === undefined || !route.servers.includes(server)) return false;
  if (!next.servers.has(serverId(tenant, server))) return false;
  return kind === null || decide(next, { tenant, groups: exchange.caller.groups }, server, kind, name).allow;
}
