// What the field cases with remote servers share: raw upstreams in the test's own process behind one Lockkeeper, by name.

import { type Lockkeeper, startStandalone, type Wish } from '../harness/lockkeeper.ts';
import { type RawUpstream, type RawWish, startRawUpstream } from '../servers/http/raw-upstream.ts';
import type { Json } from './stage.ts';

export interface RemoteWish extends RawWish {
  /** More of `http`. */
  readonly http?: Json;
  /** More of the server's section. */
  readonly more?: Json;
  readonly isolation?: 'shared' | 'exclusive' | 'user' | 'session';
}

export interface RemoteStage<Name extends string> {
  readonly lockkeeper: Lockkeeper;
  readonly up: Readonly<Record<Name, RawUpstream>>;
  at(name: Name): string;
  readonly aggregate: string;
  stop(): Promise<void>;
}

export async function openRemoteStage<Name extends string>(
  wishes: Readonly<Record<Name, RemoteWish>>,
  more: Partial<Wish> = {},
): Promise<RemoteStage<Name>> {
  const names = Object.keys(wishes) as Name[];
  const ups = await Promise.all(names.map(async (name) => [name, await startRawUpstream(wishes[name])] as const));
  const up = Object.fromEntries(ups) as Record<Name, RawUpstream>;
  const closeAll = () => Promise.all(ups.map(([, one]) => one.close()));
  const servers = names.map((name) => {
    const { http, isolation, more: section } = wishes[name];
    return {
      name,
      http: { url: up[name].url, ...http },
      ...(isolation && { isolation }),
      ...(section && { more: section }),
    };
  });
  try {
    const lockkeeper = await startStandalone({ ...more, servers: [...servers, ...(more.servers ?? [])] });
    return {
      lockkeeper,
      up,
      at: (name) => lockkeeper.route(`/acme/${name}/mcp`),
      aggregate: lockkeeper.route('/acme/mcp'),
      stop: async () => {
        await lockkeeper.stop();
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}
