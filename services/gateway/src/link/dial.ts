// Opens a socket to a node's address (`host:port`, `[v6]:port`, `unix:/path`), with TLS where it is asked for.

import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';

export type Target = { readonly host: string; readonly port: number } | { readonly path: string };

export function parseAddress(address: string): Target | null {
  if (address.startsWith('unix:')) return { path: address.slice(5) };
  const at = address.lastIndexOf(':');
  const port = Number(address.slice(at + 1));
  const host = address.slice(0, at).replace(/^\[(.*)\]$/, '$1');
  return at < 1 || host === '' || !Number.isInteger(port) || port < 1 || port > 65535 ? null : { host, port };
}

/** Gives the socket at once; `ready` is called when bytes may be sent. */
export function dial(target: Target, tls: ConnectionOptions | undefined, ready: () => void): Socket {
  const socket = tls === undefined ? connect(target, ready) : connectTls({ ...tls, ...target }, ready);
  return socket.setNoDelay(true);
}
