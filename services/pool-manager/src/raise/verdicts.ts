// Which era a server has, remembered: in this process, and for days in the store under the config's digest (protocol.md
// §4.2 "Cache"). Found once, by one node at a time; a failure is never remembered there (GB-028), only backed off from
// in this process (GB-027). A store that cannot be reached costs a probe, nothing else (design §6).

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { serverId } from '@lockkeeper/protocol/config/settings';
import type { Profile } from '@lockkeeper/protocol/mcp/profile';
import type { Clock } from '@lockkeeper/state/clock';
import { keyOf, type Store } from '@lockkeeper/state/store';
import { type Log, StartError } from './contract.ts';
import type { Place } from './place.ts';

export interface VerdictTimings {
  readonly ttlMs: number;
  /** After so long in this process, the store is looked at again, behind the caller's back. */
  readonly rereadMs: number;
  /** Longest a node may take to find one. */
  readonly lockMs: (spec: ServerSpec) => number;
  readonly pollMs: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
}

export interface VerdictDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly timings: VerdictTimings;
  readonly token: () => string;
  /** Where it may be looked for; rejects when it must wait for too long. */
  place(spec: ServerSpec): Promise<Place>;
  /** Throws StartError. `shared` is what other nodes may read. */
  find(spec: ServerSpec, place: Place): Promise<{ readonly profile: Profile; readonly shared: Profile }>;
  /** Once for each try that came to nothing. */
  failed?(spec: ServerSpec, error: StartError): void;
}

export interface Verdicts {
  /** What this process remembers. */
  known(spec: ServerSpec): Profile | null;
  /** Throws StartError. */
  get(spec: ServerSpec): Promise<Profile>;
  put(spec: ServerSpec, profile: Profile, shared: Profile): Promise<void>;
  drop(spec: ServerSpec, why: string): Promise<void>;
  /** How many servers are not asked again for now. */
  backingOff(): number;
}

interface Known {
  readonly profile: Profile;
  rereadAt: number;
}

interface Failed {
  readonly error: StartError;
  readonly until: number;
  readonly times: number;
}

export function createVerdicts(deps: VerdictDeps): Verdicts {
  const { store, clock, log, timings } = deps;
  const known = new Map<string, Known>();
  const failed = new Map<string, Failed>();
  const flights = new Map<string, Promise<Profile>>();

  function remembered(spec: ServerSpec): Profile | null {
    const id = idOf(spec);
    const entry = known.get(id);
    if (entry === undefined) return null;
    if (clock.now() >= entry.rereadAt) void reread(spec, id, entry);
    return entry.profile;
  }

  function get(spec: ServerSpec): Promise<Profile> {
    const profile = remembered(spec);
    if (profile !== null) return Promise.resolve(profile);
    const id = idOf(spec);
    const flight = flights.get(id);
    if (flight !== undefined) return flight;
    const failure = failed.get(id);
    if (failure !== undefined && clock.now() < failure.until) return Promise.reject(again(failure));
    const started = fly(spec, id).finally(() => flights.delete(id));
    flights.set(id, started);
    return started;
  }

  /** Why, and when it will be tried again. */
  function again({ error: { words, stderrTail, denied }, until }: Failed): StartError {
    const seconds = Math.ceil((until - clock.now()) / 1000);
    return new StartError(`${words} (the next try is in ${seconds} s)`, stderrTail, denied);
  }

  async function fly(spec: ServerSpec, id: string): Promise<Profile> {
    try {
      const profile = await shared(spec);
      failed.delete(id);
      remember(id, profile);
      return profile;
    } catch (error) {
      if (error instanceof StartError) {
        backOff(id, error);
        deps.failed?.(spec, error);
      }
      throw error;
    }
  }

  /** The place comes before the lock: else who waits for his would hold up nodes that have room. */
  async function shared(spec: ServerSpec): Promise<Profile> {
    const stored = await read(spec);
    if (stored !== null) return stored;
    const place = await deps.place(spec);
    try {
      return await locked(spec, place);
    } finally {
      place.done();
    }
  }

  /** Reads the answer, or takes the lock and finds it, or waits for whoever has the lock. */
  async function locked(spec: ServerSpec, place: Place): Promise<Profile> {
    const lock = keyOf(spec.tenant, 'era-lock', spec.digest);
    const lockMs = timings.lockMs(spec);
    const giveUp = clock.now() + lockMs;
    const token = deps.token();
    for (;;) {
      const mine = await safely(() => store.setIfAbsent(lock, token, lockMs), true);
      if (mine || clock.now() >= giveUp) return found(spec, lock, token, place);
      await pause(clock, timings.pollMs);
      const stored = await read(spec);
      if (stored !== null) return stored;
    }
  }

  async function found(spec: ServerSpec, lock: string, token: string, place: Place): Promise<Profile> {
    try {
      // The holder before us may have answered between our look and our lock.
      const stored = await read(spec);
      if (stored !== null) return stored;
      const { profile, shared } = await deps.find(spec, place);
      await write(spec, shared);
      return profile;
    } finally {
      await safely(() => store.compareAndDelete(lock, token), false);
    }
  }

  async function read(spec: ServerSpec): Promise<Profile | null> {
    return profileIn(await safely(() => store.get(eraKey(spec)), null));
  }

  async function write(spec: ServerSpec, profile: Profile): Promise<void> {
    await safely(() => store.set(eraKey(spec), JSON.stringify(profile), timings.ttlMs), undefined);
  }

  async function reread(spec: ServerSpec, id: string, entry: Known): Promise<void> {
    entry.rereadAt = clock.now() + timings.rereadMs;
    const text = await safely(() => store.get(eraKey(spec)), 'unreachable');
    if (text === 'unreachable' || known.get(id) !== entry) return;
    const profile = profileIn(text);
    if (profile === null) known.delete(id);
    else if (profile.foundAt > entry.profile.foundAt) remember(id, profile);
  }

  function remember(id: string, profile: Profile): void {
    known.set(id, { profile, rereadAt: clock.now() + timings.rereadMs });
    // As many as there are servers; digests of the past go first.
    if (known.size > MAX_KNOWN) for (const oldest of known.keys()) return void known.delete(oldest);
  }

  function backOff(id: string, error: StartError): void {
    const times = (failed.get(id)?.times ?? 0) + 1;
    const delay = Math.min(timings.backoffMs * 2 ** Math.min(times - 1, 16), timings.maxBackoffMs);
    failed.set(id, { error, until: clock.now() + delay, times });
    if (failed.size > MAX_KNOWN) for (const oldest of failed.keys()) return void failed.delete(oldest);
  }

  async function safely<T>(op: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await op();
    } catch (error) {
      log.warn({ err: error }, 'era verdicts: the store cannot be reached');
      return otherwise;
    }
  }

  return {
    known: remembered,
    get,
    async put(spec, profile, shared) {
      remember(idOf(spec), profile);
      await write(spec, shared);
    },
    async drop(spec, why) {
      log.info({ server: spec.name, tenant: spec.tenant, why }, 'era verdict dropped');
      known.delete(idOf(spec));
      await safely(() => store.delete(eraKey(spec)), false);
    },
    backingOff: () => [...failed.values()].filter(({ until }) => clock.now() < until).length,
  };
}

const MAX_KNOWN = 10_000;

function eraKey(spec: ServerSpec): string {
  return keyOf(spec.tenant, 'era', spec.digest);
}

/** Tenant and name too: two servers may be spelled alike and still be strangers. */
export function idOf(spec: ServerSpec): string {
  let id = ids.get(spec);
  if (id === undefined) {
    id = `${serverId(spec.tenant, spec.name)} ${spec.digest}`;
    ids.set(spec, id);
  }
  return id;
}

const ids = new WeakMap<ServerSpec, string>();

/** A record that does not read as one counts as none. */
function profileIn(text: string | null): Profile | null {
  if (text === null) return null;
  try {
    const value = JSON.parse(text) as Partial<Profile> | null;
    const era = value?.era;
    const whole =
      typeof value?.revision === 'string' && typeof value.foundAt === 'number' && Array.isArray(value.supported);
    return whole && (era === 'legacy' || era === 'modern') ? (value as Profile) : null;
  } catch {
    return null;
  }
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(ms, resolve));
}
