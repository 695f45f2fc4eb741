// Whose turn it is is counted by person and program, within one tenant.

import type { Principal } from '@lockkeeper/protocol/link/frames';

export function personOf({ issuer, subject, client }: Principal): string {
  return JSON.stringify([issuer, subject, client]);
}
