// The words of this gateway's listens (protocol.md §2.9, §5.1–§5.4). A seat is one place at an upstream's listen; an
// audience is one caller's wish on one route, with a seat at each server; a downstream stream or a legacy session has
// one audience.

import type { Principal } from '@lockkeeper/protocol/link/frames';
import type { Exchange } from '../exchange.ts';
import type { Upstream } from '../route/contract.ts';

export const LIST_KINDS = ['tools', 'prompts', 'resources'] as const;
export type ChangedList = (typeof LIST_KINDS)[number];

export interface Wanted {
  readonly lists: ReadonlySet<ChangedList>;
  /** On a seat the server's own URIs, at an audience those of the route. */
  readonly uris: ReadonlySet<string>;
}

export const NOTHING: Wanted = { lists: new Set(), uris: new Set() };

export type News =
  | { readonly kind: 'list'; readonly list: ChangedList }
  /** May be a part of what was subscribed to. */
  | { readonly kind: 'updated'; readonly uri: string };

/** What a seat needs of the caller; the first of an upstream's seats gives it for all. */
export interface Listener {
  readonly up: Upstream;
  readonly principal: Principal;
  readonly session: string | null;
}

export interface Seat {
  /** What is honoured of what this seat wants; null: the upstream cannot be had now (it is tried on). */
  ready(): Promise<Wanted | null>;
  /** Wants something else from now on; `ready` then speaks of that. */
  want(wanted: Wanted): void;
  leave(): void;
}

export function covers(have: Wanted, need: Wanted): boolean {
  return [...need.lists].every((one) => have.lists.has(one)) && [...need.uris].every((one) => have.uris.has(one));
}

export function common(a: Wanted, b: Wanted): Wanted {
  return {
    lists: new Set([...a.lists].filter((one) => b.lists.has(one))),
    uris: new Set([...a.uris].filter((one) => b.uris.has(one))),
  };
}

export function isNothing(wanted: Wanted): boolean {
  return wanted.lists.size + wanted.uris.size === 0;
}

/** What tasks tell of themselves (ext-tasks `taskIds`): the tasks room's, where there is one. */
export interface TaskEvents {
  /** `tell` is given the members of a `notifications/tasks`' params. Unknown and foreign ids are not honoured. */
  watch(
    exchange: Exchange,
    taskIds: readonly string[],
    tell: (taskId: string, members: Uint8Array) => void,
  ): Promise<{ readonly honoured: readonly string[]; close(): void }>;
}
