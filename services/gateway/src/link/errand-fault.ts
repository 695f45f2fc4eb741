// A node answers an errand with a fault: is that its end, or is there another way? Pure.

import type { Fault, FaultReason } from '@lockkeeper/protocol/link/frames';
import type { ErrandSpec } from './errand-spec.ts';

export type Course =
  | 'over'
  /** Nothing is recorded: what a node says of itself is not of that call. */
  | 'gone'
  /** To the node that has it. */
  | 'moved'
  /** To any other, if what has started may go again. */
  | 'drained'
  | 'ask-next'
  | 'overflow';

/** Before `started` elsewhere is allowed, unless only one node may serve it (design §4). */
export function courseAfter(fault: Fault, spec: ErrandSpec, started: boolean, afterwards: boolean): Course {
  if (afterwards && !started) return 'gone';
  if (spec.incarnation !== undefined) return 'over';
  if (fault.reason === 'draining') return 'drained';
  if (started) return 'over';
  if (fault.reason === 'moved' && fault.node !== undefined) return 'moved';
  if (fault.reason === 'unknown-exchange' && spec.joins) return 'ask-next';
  return fault.reason === 'busy' && spec.nodes !== undefined ? 'overflow' : 'over';
}

export function faultOf(reason: FaultReason, message: string, mayHaveRun: boolean): Fault {
  return { kind: 'error', stream: 0, seq: 0, reason, code: -32603, message, mayHaveRun };
}
