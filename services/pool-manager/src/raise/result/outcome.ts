// How a call ends, as a value: judged here, carried out by the connection.

import { bytesOf } from '@lockkeeper/protocol/json/compose';
import { INTERNAL_ERROR } from '@lockkeeper/protocol/jsonrpc/codes';
import type { FaultReason } from '@lockkeeper/protocol/link/frames';
import type { FaultHead, ResultHead, Visit } from '../contract.ts';

export type Outcome =
  | { readonly kind: 'result'; readonly head: ResultHead; readonly members: Uint8Array }
  | { readonly kind: 'fault'; readonly head: FaultHead }
  /** Places to visit before the call may be made; `head` for who cannot say so. */
  | { readonly kind: 'visits'; readonly visits: readonly Visit[]; readonly head: FaultHead };

export function complete(members: Uint8Array | string, meta?: string): Outcome {
  const head: ResultHead = meta === undefined ? { resultType: 'complete' } : { resultType: 'complete', meta };
  return { kind: 'result', head, members: typeof members === 'string' ? bytesOf(members) : members };
}

export function fault(reason: FaultReason, message: string, more: Partial<FaultHead> = {}): Outcome {
  return { kind: 'fault', head: { reason, code: INTERNAL_ERROR, message, mayHaveRun: true, ...more } };
}

/** The upstream said something that the protocol does not allow there. */
export function breach(message: string): Outcome {
  return fault('protocol', message);
}
