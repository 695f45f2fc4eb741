// How a server that is left out of an aggregate's answer shows (design §7): in the result's `_meta`, in a log event for
// those who asked for logs, to the observer. Never silent, never the whole answer's failure.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { bytesOf } from '@lockkeeper/protocol/json/compose';
import { passesLevel } from '@lockkeeper/protocol/mcp/meta';
import { row } from '../../errors.ts';
import type { AnswerListener, Exchange } from '../../exchange.ts';
import type { CallFault } from '../contract.ts';
import { refusalOf } from '../refuse.ts';
import type { Room } from '../room.ts';

export interface Unavailable {
  readonly spec: ServerSpec;
  readonly fault: CallFault;
}

/** It has not failed, it is not there yet. */
export const STARTING: CallFault = { reason: 'timeout', code: -32603, message: '', mayHaveRun: false };

const NO_ASK = { method: '', bytes: new Uint8Array(0), params: [], progress: false } as const;

function sayWhy(exchange: Exchange, { spec, fault }: Unavailable): { server: string; reason: string; message: string } {
  if (fault === STARTING) {
    const words = `Server "${spec.name}" is still starting. List again in a moment.`;
    return { server: spec.name, reason: 'starting', message: words };
  }
  const { reason, message } = refusalOf(fault, spec, null, exchange, NO_ASK);
  return { server: spec.name, reason, message: message ?? row(reason).words };
}

/** `_meta` members, or undefined when all are there. */
export function unavailableMeta(exchange: Exchange, missing: readonly Unavailable[]): string | undefined {
  if (missing.length === 0) return undefined;
  return `"lockkeeper/unavailable":${JSON.stringify(missing.map((m) => sayWhy(exchange, m)))}`;
}

export function tellUnavailable(
  room: Room,
  exchange: Exchange,
  missing: readonly Unavailable[],
  listener: AnswerListener,
): void {
  for (const one of missing) {
    const { server, reason, message } = sayWhy(exchange, one);
    room.deps.observer?.unavailable?.(exchange, server, reason);
    if (exchange.logLevel === undefined || !passesLevel('warning', exchange.logLevel)) continue;
    const data = JSON.stringify(`Server "${server}" is left out: ${message}`);
    listener.event('notifications/message', bytesOf(`"level":"warning","logger":"lockkeeper","data":${data}`));
  }
}
