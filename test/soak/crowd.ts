// The crowd: so many at once come to a server each, do a few things there and go; servers fall under a spell now and then.
// Who does what next is chance, by the seed.

import { rmSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { act, type Visit } from './acts.ts';
import { type Caller, createLegacy, createModern, type Place } from './callers.ts';
import type { Random } from './random.ts';
import type { Stage } from './stage.ts';
import { endOf, type Tally } from './tally.ts';

export interface CrowdWish {
  readonly stage: Stage;
  readonly random: Random;
  readonly tally: Tally;
  readonly size: number;
  readonly untilMs: number;
}

export async function crowd(wish: CrowdWish): Promise<void> {
  const chains = Array.from({ length: wish.size }, (_none, index) =>
    visits(wish, wish.random.fork(`visitor ${index}`)),
  );
  await Promise.all([...chains, spells(wish, wish.random.fork('spells'))]);
}

async function visits(wish: CrowdWish, random: Random): Promise<void> {
  for (let n = 0; performance.now() < wish.untilMs; n++) await visit(wish, random.fork(`visit ${n}`));
}

async function visit({ stage, tally, untilMs }: CrowdWish, random: Random): Promise<void> {
  const person = random.one(stage.people);
  const server = random.one(stage.servers.filter(({ tenant }) => tenant === person.tenant));
  const place: Place = { person, random, url: () => stage.url(random.between(0, stage.gateways.length - 1), server) };
  let words = 0;
  const prefix = `secret-of-${person.name}-${Math.floor(random.next() * 1e9).toString(36)}`;
  try {
    const caller = await callerAt(place, tally);
    if (caller === null) return;
    const here: Visit = { caller, server, random, tally, secret: () => `${prefix}-${words++}` };
    for (let left = random.between(2, 7); left > 0 && performance.now() < untilMs; left--) {
      await act(here);
      if (random.chance(0.2)) await pause(random.between(50, 2_000));
    }
    if (random.chance(0.5)) await caller.end();
  } catch (error) {
    tally.failed(`a visit at ${server.name}`, error);
  }
}

async function callerAt(place: Place, tally: Tally): Promise<Caller | null> {
  if (place.random.chance(0.5)) return createModern(place);
  const { caller, reply } = await createLegacy(place);
  tally.count('initialize', endOf(reply), [], JSON.stringify(reply.message ?? reply.status));
  return caller;
}

async function spells({ stage, untilMs }: CrowdWish, random: Random): Promise<void> {
  const files = stage.servers.flatMap(({ spell }) => (spell === null ? [] : [spell]));
  while (performance.now() < untilMs) {
    const file = random.one(files);
    writeFileSync(file, random.one(['exit', 'hang', 'garbage']));
    await pause(random.between(300, 1_500));
    rmSync(file, { force: true });
    await pause(random.between(1_000, 4_000));
  }
}
