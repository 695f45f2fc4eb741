// The twenty servers of the soak: two tenants, every isolation, every era, and what some of them cannot help doing.

import { fileURLToPath } from 'node:url';
import type { ServerWish } from '../harness/lockkeeper.ts';

export type Isolation = 'shared' | 'exclusive' | 'user' | 'session';
export type ServerEra = 'legacy' | 'modern' | 'dual';

export interface SoakServer {
  readonly name: string;
  readonly tenant: string;
  readonly isolation: Isolation;
  readonly era: ServerEra;
  /** A process of it serves more than one person, as its operator wants. */
  readonly mixed: boolean;
  /** Its starts fail while this file is there. */
  readonly spell: string | null;
}

interface Row {
  readonly tenant?: string;
  readonly isolation: Isolation;
  readonly era: ServerEra;
  readonly keepsNothing?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly spelled?: boolean;
}

const PROGRAM = fileURLToPath(new URL('./servers/anything.mjs', import.meta.url));

const ROWS: Readonly<Record<string, Row>> = {
  'user-legacy': { isolation: 'user', era: 'legacy' },
  'user-modern': { isolation: 'user', era: 'modern' },
  'user-dual': { isolation: 'user', era: 'dual' },
  'user-slow': { isolation: 'user', era: 'legacy', env: { START_MS: '400' } },
  'user-stubborn': { isolation: 'user', era: 'legacy', env: { STUBBORN: '1' } },
  'user-parent': { isolation: 'user', era: 'modern', env: { GRANDCHILD: '1' } },
  'user-spelled': { isolation: 'user', era: 'legacy', spelled: true },
  'shared-legacy': { isolation: 'shared', era: 'legacy' },
  'shared-modern': { isolation: 'shared', era: 'modern' },
  'shared-spelled': { isolation: 'shared', era: 'modern', spelled: true },
  'once-legacy': { isolation: 'exclusive', era: 'legacy' },
  'once-modern': { isolation: 'exclusive', era: 'modern' },
  'once-again': { isolation: 'exclusive', era: 'legacy', keepsNothing: true },
  'session-legacy': { isolation: 'session', era: 'legacy' },
  'session-modern': { isolation: 'session', era: 'modern' },
  'blue-user': { tenant: 'blue', isolation: 'user', era: 'legacy' },
  'blue-dual': { tenant: 'blue', isolation: 'user', era: 'dual' },
  'blue-shared': { tenant: 'blue', isolation: 'shared', era: 'legacy' },
  'blue-once': { tenant: 'blue', isolation: 'exclusive', era: 'modern' },
  'blue-session': { tenant: 'blue', isolation: 'session', era: 'legacy' },
};

export const CALL_MS = 4_000;

export function soakServers(
  folder: string,
  only: readonly string[] = Object.keys(ROWS),
): { readonly servers: SoakServer[]; readonly wishes: ServerWish[] } {
  const servers: SoakServer[] = [];
  const wishes: ServerWish[] = [];
  for (const [name, { tenant = 'acme', isolation, era, keepsNothing = false, env, spelled }] of Object.entries(ROWS)) {
    if (!only.includes(name)) continue;
    const spell = spelled === true ? `${folder}/spell-${name}` : null;
    servers.push({ name, tenant, isolation, era, mixed: isolation === 'shared' || keepsNothing, spell });
    wishes.push({
      ...{ name, tenant, isolation },
      args: [PROGRAM],
      env: { ERA: era, ...env, ...(spell !== null && { SPELL: spell }) },
      more: {
        keepsNothing,
        pool: { max: isolation === 'shared' ? 2 : 3, minWarm: 0, idleMs: 6_000, maxAgeMs: 20_000, maxUses: 60 },
        startTimeoutMs: 8_000,
        callTimeoutMs: CALL_MS,
      },
    });
  }
  return { servers, wishes };
}
