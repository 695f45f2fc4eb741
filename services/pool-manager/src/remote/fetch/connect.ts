// Every connection to a remote server begins here: its name is resolved, all addresses are judged, and one of exactly those
// is connected to, with the name kept for TLS (auth-security NET-1: nothing can be rebound between look and leap).

import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { HttpSpec } from '@lockkeeper/protocol/config/settings';
import { buildConnector } from 'undici';
import type { Log } from '../../raise/contract.ts';
import { RemoteError } from '../contract.ts';
import { type AddressRule, createAddressRule } from './addresses.ts';

export type Resolve = (
  host: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

/** Who waits for one is told when one has ended. */
export interface Connections {
  open: number;
  readonly waiting: Set<() => void>;
  /** Somebody waits: one over which nothing runs may go, of the door that was used longest ago. */
  makeRoom(): void;
}

export interface GuardDeps {
  readonly log: Pick<Log, 'warn'>;
  readonly server: string;
  /** Of the system. */
  readonly resolve?: Resolve;
  /** Connections of this server that stand or are being made, on whatever door. */
  readonly count: Connections;
}

const systemResolve: Resolve = (host, done) =>
  dnsLookup(host, { all: true, verbatim: true }, (error, addresses) => done(error, addresses ?? []));

export function createGuard(http: HttpSpec, deps: GuardDeps, allowH2: boolean): buildConnector.connector {
  const rule = createAddressRule(http.cidrs);
  const refused = (host: string, address: string): RemoteError => {
    deps.log.warn({ server: deps.server, host, address, cidrs: http.cidrs }, 'remote server: its address is refused');
    return new RemoteError('refused-address', refusedWords(host, http), false);
  };
  const connect = buildConnector({
    timeout: http.connectMs,
    allowH2,
    rejectUnauthorized: true,
    lookup: guardedLookup(rule, deps.resolve ?? systemResolve, refused),
    ...(http.ca === undefined ? {} : { ca: http.ca }),
  });

  function whenOneEnds(host: string, go: () => void, callback: buildConnector.Callback): void {
    const { waiting } = deps.count;
    const timer = setTimeout(() => {
      waiting.delete(next);
      const words = `${host} has as many connections as http.maxConnections allows`;
      callback(new RemoteError('full', words, false), null);
    }, http.connectMs);
    timer.unref();
    const next = () => {
      clearTimeout(timer);
      waiting.delete(next);
      go();
    };
    waiting.add(next);
    deps.count.makeRoom();
  }

  function ended(): void {
    deps.count.open--;
    const [next] = deps.count.waiting;
    next?.();
  }

  const open: buildConnector.connector = (options, callback) => {
    // An address in the URL is never looked up.
    const host = options.hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(host) !== 0 && !rule.allows(host)) return callback(refused(host, host), null);
    if (deps.count.open >= http.maxConnections) {
      whenOneEnds(host, () => void open(options, callback), callback);
      return;
    }
    deps.count.open++;
    const done: buildConnector.Callback = (...[error, socket]) => {
      if (error !== null) return callback(error, null);
      const { remoteAddress = '' } = socket;
      if (rule.allows(remoteAddress)) return callback(null, socket);
      socket.destroy();
      callback(refused(host, remoteAddress), null);
    };
    try {
      const socket = connect(options, done) as unknown as Socket;
      socket.once('close', ended);
      return socket;
    } catch (error) {
      ended();
      throw error;
    }
  };
  return open;
}

/** Refuses a name when any of its addresses is not allowed. */
function guardedLookup(
  rule: AddressRule,
  resolve: Resolve,
  refused: (host: string, address: string) => RemoteError,
): LookupFunction {
  return (host, options, callback) => {
    resolve(host, (error, addresses) => {
      const bad = addresses.find(({ address }) => !rule.allows(address));
      const first = addresses[0];
      if (error !== null) callback(error, []);
      else if (first === undefined) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), []);
      else if (bad !== undefined) callback(refused(host, bad.address), []);
      else if (options.all === true) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    });
  };
}

function refusedWords(host: string, http: HttpSpec): string {
  return http.cidrs.length === 0
    ? `${host} is not at a public address: where that is meant, declare its range under http.cidrs`
    : `${host} is at an address outside http.cidrs, or at one that no server may have`;
}
