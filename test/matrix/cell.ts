// One cell of the matrix: a client of one era, a server of another, one thing they do together. What the client sees is
// the same in all four; what goes over the wires is what each cell states.

import type { Message } from '../harness/wire-log.ts';
import type { MatrixClient } from './clients.ts';
import type { Entry } from './upstream.ts';

export type Era = 'legacy' | 'modern';
export type Json = Readonly<Record<string, unknown>>;

export interface Down {
  readonly sent: readonly Message[];
  readonly heard: readonly Message[];
}

export interface Wires {
  readonly down: Down;
  readonly up: readonly Entry[];
  /** Of this server since its start: what is shared may have begun with another client. */
  readonly ever: readonly Entry[];
}

export interface Side {
  /** In words; both sides' sentences together name the test. `holds` is asked until it does, and once more at the end. */
  readonly right: string;
  readonly holds: (wires: Wires) => void;
}

export interface Feature {
  readonly name: string;
  /** What the client does, and what it must get, whatever the eras. */
  readonly act: (client: MatrixClient, up: () => readonly Entry[]) => Promise<void>;
  readonly down: Readonly<Record<Era, Side>>;
  readonly up: Readonly<Record<Era, Side>>;
  /** Also through several gateways. */
  readonly everywhere?: true;
}

const META = 'io.modelcontextprotocol/';

export const metaOf = (message: Message | undefined, key: string): unknown => {
  const params = (message?.params ?? message?.result) as Json | undefined;
  return (params?._meta as Json | undefined)?.[`${META}${key}`];
};

/** Requests and notifications of this method. */
export const those = (messages: readonly Message[], method: string) => messages.filter((one) => one.method === method);
export const toServer = (up: readonly Entry[], method: string) =>
  those(
    up.filter(({ by }) => by === 'lockkeeper').map(({ message }) => message),
    method,
  );
export const fromServer = (up: readonly Entry[], method: string) =>
  those(
    up.filter(({ by }) => by === 'server').map(({ message }) => message),
    method,
  );

/** The answers that Lockkeeper wrote to a server's requests of this method. */
export function answersTo(up: readonly Entry[], method: string): readonly Message[] {
  const ids = fromServer(up, method).map(({ id }) => id);
  return up
    .filter(({ by, message }) => by === 'lockkeeper' && message.method === undefined && ids.includes(message.id))
    .map(({ message }) => message);
}

export const callOf = (up: readonly Entry[]) => toServer(up, 'tools/call');
export const paramsOf = (message: Message | undefined) => (message?.params ?? {}) as Json;
export const resultOf = (message: Message | undefined) => (message?.result ?? {}) as Json;
export const asking = (heard: readonly Message[]) =>
  heard.filter((one) => resultOf(one).resultType === 'input_required');
