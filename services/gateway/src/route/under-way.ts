// The calls that servers are working at for this replica, so that a reload ends those whose route, server or permission
// it takes away (design §5 "Reload": removal or revocation ends it now). A changed server keeps its calls.

import { type Snapshot, serverId } from '@lockkeeper/protocol/config/settings';
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

interface Running extends CallUnderWay {
  revoked: boolean;
}

export function createUnderWay(cancel: (call: CallUnderWay) => void): UnderWay {
  const running = new Set<Running>();
  return {
    begin(call) {
      const one: Running = { ...call, revoked: false };
      running.add(one);
      return {
        get revoked() {
          return one.revoked;
        },
        over: () => void running.delete(one),
      };
    },
    reload(next) {
      for (const one of running) {
        if (one.revoked || stands(next, one)) continue;
        one.revoked = true;
        cancel(one);
      }
    },
  };
}

function stands(next: Snapshot, { exchange, server, kind, name }: Running): boolean {
  const { path, tenant } = exchange.route;
  const route = next.routes.find((r) => r.path === path && r.tenant === tenant);
  if (route === undefined || !route.servers.includes(server)) return false;
  if (!next.servers.has(serverId(tenant, server))) return false;
  return kind === null || decide(next, { tenant, groups: exchange.caller.groups }, server, kind, name).allow;
}
