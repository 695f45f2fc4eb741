// One connection to a fake legacy server, whose script a test says, and how it is called.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { ConnectorDeps } from '../../src/raise/connector.ts';
import type { Connection } from '../../src/raise/contract.ts';
import {
  bytes,
  collect,
  connectorOf,
  type Ended,
  type FakeChild,
  legacyServer,
  NEVER,
  notedLog,
  ok,
  openOf,
  type Sent,
  spawner,
  specOf,
} from './fake.ts';

export type More = (message: Sent, child: FakeChild) => boolean;

export interface Scene {
  readonly connection: Connection;
  readonly child: FakeChild;
  readonly log: ReturnType<typeof notedLog>;
  call(method: string, params?: string, more?: Partial<Open>): Promise<Ended>;
  end(): Promise<void>;
}

export async function scene(
  more: More = () => false,
  init: Record<string, unknown> = {},
  spec: Partial<ServerSpec> = {},
  deps: Partial<ConnectorDeps> = {},
): Promise<Scene> {
  const { spawn, children } = spawner(legacyServer(more, init));
  const log = notedLog();
  const connector = connectorOf({ spawn, log, ...deps });
  const connection = await connector.connect(specOf({ era: 'legacy', ...spec }), {}, NEVER);
  return {
    connection,
    child: children[0]!,
    log,
    call(method, params = '', head = {}) {
      const { reply, ended } = collect();
      connection.call(openOf(method, head), bytes(params), reply);
      return ended;
    },
    async end() {
      await connection.stop('test');
      await connector.close();
    },
  };
}

export const echo: More = (m, child) => {
  if (m.method !== 'tools/call') return false;
  ok(child, m, { content: [], got: m.params });
  return true;
};
export const silent: More = (m) => m.method === 'tools/call';
