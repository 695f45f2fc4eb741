// How two peers of the link recognise each other (design §4 `hello`). Each says who it is with a nonce, then proves
// that it knows the link's secret by a keyed hash over everything both have said. The gateway speaks and proves first.
// Keyed hash, comparison and randomness are the caller's; every refusal has a reason for the log and none for the peer.

import type { Arrival } from './decoder.ts';
import type { ControlHead, Hello } from './frames.ts';
import type { LaneSink } from './lane.ts';
import { compatible } from './version.ts';
import { WireFault } from './wire-fault.ts';

export const HANDSHAKE_MS = 5_000;
const MIN_NONCE = 16;

export interface Proving {
  /** Keyed hash of `text` under the link's secret. */
  prove(text: string): string;
  /** In constant time. */
  equal(a: string, b: string): boolean;
}

export interface HandshakeDeps {
  /** Our first hello, without proof. A node takes `lane` and `pair` from the gateway's. */
  readonly self: Omit<Hello, 'proof'>;
  readonly proving: Proving;
  readonly send: (head: Hello) => void;
  readonly done: (peer: Hello) => void;
}

export interface Handshake extends LaneSink {
  /** The gateway begins. */
  begin(): void;
}

function said(h: Hello): string {
  return JSON.stringify([h.version, h.role, h.id, h.incarnation, h.lane, h.pair, h.nonce]);
}

/** All that both have said, and who proves: a proof fits one conversation, one lane and one side of it. */
function proofText(prover: Hello['role'], gateway: Hello, node: Hello): string {
  return JSON.stringify(['lockkeeper link', prover, said(gateway), said(node)]);
}

function refuse(why: string): never {
  throw new WireFault('bad-handshake', why);
}

/** Throws `WireFault` out of the lane's `received` at the first thing that is wrong. */
export function createHandshake(deps: HandshakeDeps): Handshake {
  const { proving } = deps;
  const peerRole = deps.self.role === 'gateway' ? 'pool-manager' : 'gateway';
  let own: Hello = deps.self;
  let first: Hello | null = null;
  let finished = false;

  const textOf = (prover: Hello['role'], peer: Hello) =>
    own.role === 'gateway' ? proofText(prover, own, peer) : proofText(prover, peer, own);
  const prove = (peer: Hello) => deps.send({ ...own, proof: proving.prove(textOf(own.role, peer)) });

  const greeted = (peer: Hello) => {
    if (peer.role !== peerRole) refuse(`wrong role ${peer.role}`);
    if (!compatible(peer.version)) refuse(`link version ${peer.version} is not served`);
    if (peer.proof !== undefined) refuse('proof before greeting');
    if (peer.nonce.length < MIN_NONCE || peer.nonce === own.nonce) refuse('bad nonce');
    if (own.role === 'pool-manager') own = { ...own, lane: peer.lane, pair: peer.pair };
    if (peer.lane !== own.lane || peer.pair !== own.pair) refuse('wrong pair or lane');
    first = peer;
    if (own.role === 'gateway') prove(peer);
    else deps.send(own);
  };

  const proved = (peer: Hello, greeting: Hello) => {
    if (peer.proof === undefined) refuse('greeted twice');
    if (said(peer) !== said(greeting)) refuse('proof of another greeting');
    if (!proving.equal(peer.proof ?? '', proving.prove(textOf(peerRole, greeting)))) refuse('wrong proof');
    finished = true;
    if (own.role === 'pool-manager') prove(greeting);
    deps.done(greeting);
  };

  return {
    begin: () => deps.send(own),
    control: (head: ControlHead) => {
      if (head.kind !== 'hello' || finished) refuse(`${head.kind} before the handshake was over`);
      if (first === null) greeted(head as Hello);
      else proved(head as Hello, first);
    },
    message: (arrival: Arrival) => refuse(`${arrival.head.kind} before the handshake`),
    part: () => refuse('long message before the handshake'),
    aborted: () => refuse('abort before the handshake'),
  };
}
