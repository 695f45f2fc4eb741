// The node's end of the link (design §4): listens, takes proved gateways, and serves their streams by the dispatcher.
// It owns what is true of the node as a whole: how many gateways and streams, draining, its incarnation, tombstones.

import { createServer, type Server } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import type { Channel } from '@lockkeeper/protocol/link/channel';
import type { Cancel, Listen, Notify, Open } from '@lockkeeper/protocol/link/frames';
import { HANDSHAKE_MS, type Proving } from '@lockkeeper/protocol/link/handshake';
import type { Clock } from '@lockkeeper/state/clock';
import { createAcceptor, type Pair } from './accept.ts';
import type { Dispatcher } from './contract.ts';
import { createGatewayPeer, type GatewayPeer } from './gateway-peer.ts';
import { createTombstones } from './tombstones.ts';

export type LinkAddress = { readonly host: string; readonly port: number } | { readonly path: string };

export interface LinkServerDeps {
  readonly dispatcher: Dispatcher;
  readonly nodeId: string;
  /** Read whenever it is needed: it changes (design §4). */
  readonly incarnation: () => string;
  readonly proving: Proving;
  readonly nonce: () => string;
  readonly clock: Clock;
  readonly listen: LinkAddress;
  readonly log: (level: 'info' | 'warn', words: string) => void;
  readonly tls?: TlsOptions;
  /** What was read before a stall is void: all gateways are let go then (design §4). */
  readonly stall?: { check(): boolean; onStall(listener: () => void): () => void };
  /**
   * `at-once` (default): `started` is written when it is said. `by-flush`: when `flush` is called, which whoever writes
   * upstream then does before every write; so that a burst of calls is one write here and one there.
   */
  readonly promises?: 'at-once' | 'by-flush';
  readonly maxGateways?: number;
  /** Over all gateways. */
  readonly maxStreams?: number;
}

export interface LinkServer {
  /** The address as bound: `host:port`, `[v6]:port` or `unix:/path`. */
  start(): Promise<string>;
  /** Tells the gateways the incarnation of now. */
  announce(): void;
  /** Writes to the gateways what they must know before anything goes upstream. Cheap when there is nothing. */
  flush(): void;
  /** Takes no new work, tells the gateways, and resolves when the last stream has ended. Idempotent. */
  close(): Promise<void>;
  /** Ends everything now; open streams vanish as broken. Idempotent. */
  destroy(): Promise<void>;
  stats(): { readonly gateways: number; readonly streams: number; readonly draining: boolean };
}

const MAX_GATEWAYS = 256;
const MAX_STREAMS = 32_768;

export function createLinkServer(deps: LinkServerDeps): LinkServer {
  const { clock, dispatcher, log } = deps;
  const gateways = new Set<GatewayPeer>();
  const tombstones = createTombstones(() => clock.now());
  /** Streams of each exchange that is open here. */
  const exchanges = new Map<string, number>();
  const promising = new Set<Channel>();
  const promised =
    deps.promises === 'by-flush'
      ? (channel: Channel) => void promising.add(channel)
      : (channel: Channel) => channel.flushSmall();
  let streams = 0;
  let draining = false;
  let drained: (() => void) | null = null;
  let closing: Promise<void> | null = null;
  let destroyed = false;

  function refuses(head: Open | Listen): Parameters<GatewayPeer['endListens']>[0] | null {
    const named = head.kind === 'open' ? head.incarnation : undefined;
    // A modern server's state names no life of a node, but perhaps a process that lives here: the dispatcher knows.
    const continues = named !== undefined || (head.kind === 'open' && (head.wait === true || head.state !== undefined));
    if (named !== undefined && named !== deps.incarnation()) {
      return fault('lost', 'The node that ran this was restarted.', true);
    }
    if (draining && !continues) return fault('draining', 'This node takes no new work.', false);
    if (streams > (deps.maxStreams ?? MAX_STREAMS)) return fault('busy', 'This node has too many calls open.', false);
    if (head.kind === 'open' && !continues && tombstones.covers(head)) {
      return fault('cancelled', 'The request was cancelled.', false);
    }
    return null;
  }

  function opened(head: Open | Listen): void {
    streams += 1;
    if (head.kind === 'open') exchanges.set(head.xid, (exchanges.get(head.xid) ?? 0) + 1);
  }

  function closed(head: Open | Listen): void {
    streams -= 1;
    if (head.kind === 'open') {
      const left = (exchanges.get(head.xid) ?? 1) - 1;
      if (left === 0) exchanges.delete(head.xid);
      else exchanges.set(head.xid, left);
    }
    if (streams === 0) drained?.();
  }

  function control(head: Cancel | Notify): void {
    try {
      if (head.kind === 'notify') {
        dispatcher.notify(head);
        return;
      }
      if (!exchanges.has(head.xid)) tombstones.add(head);
      dispatcher.cancel(head);
    } catch (error) {
      log('warn', `the dispatcher failed on ${head.kind}: ${String(error)}`);
    }
  }

  const state = () => ({ kind: 'node' as const, incarnation: deps.incarnation(), draining });

  function paired(pair: Pair): void {
    if (gateways.size >= (deps.maxGateways ?? MAX_GATEWAYS)) {
      pair.small.lane.end('too many gateways');
      pair.bulk.lane.end('too many gateways');
      log('warn', 'a gateway was refused: too many are connected');
      return;
    }
    const peer = createGatewayPeer({
      pair,
      clock,
      dispatcher,
      refuses,
      control,
      promised,
      opened,
      closed,
      gone: (gone, reason) => {
        gateways.delete(gone);
        log('info', `gateway ${gone.id} is gone: ${reason}`);
      },
      warn: (words) => log('warn', words),
    });
    gateways.add(peer);
    peer.tell(state());
    log('info', `gateway ${peer.id} is connected`);
  }

  const acceptor = createAcceptor({
    self: { id: deps.nodeId, incarnation: deps.incarnation },
    proving: deps.proving,
    nonce: deps.nonce,
    clock,
    mayRead: () => deps.stall?.check() !== true,
    paired,
    refused: (why) => log('warn', `a connection to the link was refused: ${why}`),
  });
  const server: Server =
    deps.tls === undefined
      ? createServer({ noDelay: true })
      : createTlsServer({ handshakeTimeout: HANDSHAKE_MS, ...deps.tls, noDelay: true });
  server.on(deps.tls === undefined ? 'connection' : 'secureConnection', (socket) => acceptor.take(socket));
  server.on('tlsClientError', (error: Error) => log('warn', `a TLS handshake on the link failed: ${error.message}`));
  const noMoreStalls = deps.stall?.onStall(() => letGo('this node stood still'));

  function letGo(reason: string): void {
    for (const peer of [...gateways]) peer.end(reason);
    acceptor.destroy();
  }

  return {
    start: () =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(deps.listen, () => {
          server.removeListener('error', reject);
          server.on('error', (error) => log('warn', `link listener: ${error.message}`));
          resolve(boundAddress(server, deps.listen));
        });
      }),
    flush: () => {
      if (promising.size === 0) return;
      for (const channel of promising) channel.flushSmall();
      promising.clear();
    },
    announce: () => {
      for (const peer of gateways) peer.tell(state());
    },
    close: () => {
      closing ??= new Promise<void>((resolve) => {
        drained = resolve;
        draining = true;
        for (const peer of gateways) peer.tell(state());
        for (const peer of gateways) peer.endListens(fault('draining', 'This node takes no new work.', false));
        if (streams === 0) resolve();
      });
      return closing;
    },
    destroy: async () => {
      if (destroyed) return;
      destroyed = true;
      noMoreStalls?.();
      letGo('this node stops');
      drained?.();
      if (server.listening) await new Promise<void>((resolve) => server.close(() => resolve()));
    },
    stats: () => ({ gateways: gateways.size, streams, draining }),
  };
}

function fault(reason: 'lost' | 'draining' | 'busy' | 'cancelled', message: string, mayHaveRun: boolean) {
  return { reason, code: -32603, message, mayHaveRun };
}

function boundAddress(server: Server, asked: LinkAddress): string {
  const bound = server.address();
  if ('path' in asked) return `unix:${asked.path}`;
  if (bound === null || typeof bound === 'string') throw new Error('the link is not bound');
  return bound.family === 'IPv6' ? `[${bound.address}]:${bound.port}` : `${bound.address}:${bound.port}`;
}
