// One world for the tests of a file, whose server begins anew after each, and a response as JSON-RPC.

import { after, afterEach, before } from 'node:test';
import { createUpstream, createWorld, type Replica, type World } from './replicas.ts';

export let world: World;
/** The replica that is spoken to. */
export let a: Replica;

export function useOneWorld(): void {
  before(async () => {
    world = await createWorld('memory');
    a = world.replicas[0];
  });
  after(() => world.close());
  afterEach(() => {
    const fresh = createUpstream();
    world.upstream.answer = fresh.answer;
    world.upstream.info = fresh.info;
  });
}

export interface Rpc {
  readonly id?: unknown;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export const json = async (response: Response) => (await response.json()) as Rpc;
