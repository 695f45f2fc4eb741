// Which events of an exchange may reach its caller (protocol.md §2.11), for both legs: progress rises strictly, log
// messages pass the level asked for. Small texts only are looked into; nothing is reshaped.

import { objectOf } from '@lockkeeper/protocol/json/compose';
import { findMember, parseSpan, scan, stringOf } from '@lockkeeper/protocol/json/scan';
import { isLogLevel, type LogLevel, passesLevel } from '@lockkeeper/protocol/mcp/meta';

/** Says of each progress event, in order, whether it rises above the ones before. */
export function progressGate(): (members: Uint8Array) => boolean {
  let last = Number.NEGATIVE_INFINITY;
  return (members) => {
    const object = objectOf([members]);
    const progress = findMember(scan(object).members, 'progress');
    if (progress?.kind !== 'number') return false;
    const value = parseSpan(object, progress) as number;
    if (value <= last) return false;
    last = value;
    return true;
  };
}

/** A message without a level we know does not pass: nobody asked for it (protocol.md §2.11 "Log"). */
export function passesFilter(members: Uint8Array, wanted: LogLevel): boolean {
  const object = objectOf([members]);
  const level = stringOf(object, findMember(scan(object).members, 'level'));
  return isLogLevel(level) && passesLevel(level, wanted);
}
