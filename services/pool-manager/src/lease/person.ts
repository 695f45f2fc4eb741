// Whose turn it is is counted by person and program, within one tenant.

import type { Principal } from '@lockkeeper/protocol/link/frames';

export function personOf({ issuer, subject, client }: Principal): string {
  // Made for every call of a shared server. With the lengths no two persons are alike.
  return `${issuer.length} ${subject.length} ${issuer}${subject}${client === null ? '' : ` ${client}`}`;
}
