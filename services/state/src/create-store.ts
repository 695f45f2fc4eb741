// The one place that chooses an implementation from settings. Builds, connects nothing: Redis is dialled by the first
// operation.

import type { Snapshot } from '@lockkeeper/protocol/config/settings';
import type { Clock } from './clock.ts';
import type { Jobs } from './jobs.ts';
import { createMemoryJobs } from './memory/jobs.ts';
import { createMemoryStore } from './memory/store.ts';
import { createRedisJobs } from './redis/jobs.ts';
import { createRedisStore } from './redis/store.ts';
import type { Store } from './store.ts';

export interface StateDeps {
  readonly clock: Clock;
  /** Sentences for the operator's log; no secret and no caller's value is ever in one. */
  readonly warn: (words: string) => void;
}

export function createStore(state: Snapshot['state'], deps: StateDeps): Store {
  return state.kind === 'redis' ? createRedisStore({ ...deps, url: state.url }) : createMemoryStore(deps);
}

export function createJobs(state: Snapshot['state'], deps: StateDeps): Jobs {
  return state.kind === 'redis' ? createRedisJobs({ ...deps, url: state.url }) : createMemoryJobs(deps);
}
