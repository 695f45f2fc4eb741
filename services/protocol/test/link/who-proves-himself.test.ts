import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import type { Hello } from '../../src/link/frames.ts';
import { createHandshake, type Handshake } from '../../src/link/handshake.ts';

const proving = (secret: string) => ({
  prove: (text: string) => createHmac('sha256', secret).update(text).digest('hex'),
  equal: (a: string, b: string) => a === b,
});

interface Side {
  readonly handshake: Handshake;
  readonly sent: Hello[];
  readonly done: Hello[];
}

function side(role: Hello['role'], change: Partial<Hello> = {}, secret = 'the secret'): Side {
  const sent: Hello[] = [];
  const done: Hello[] = [];
  const own = role === 'gateway' ? { lane: 'bulk' as const, pair: 'pair-1' } : { lane: 'small' as const, pair: '' };
  const handshake = createHandshake({
    self: {
      kind: 'hello',
      version: 1,
      role,
      id: role,
      incarnation: `${role}-life`,
      nonce: `${role}-nonce-0123456789`,
      ...own,
      ...change,
    },
    proving: proving(secret),
    send: (head) => sent.push(head),
    done: (peer) => done.push(peer),
  });
  return { handshake, sent, done };
}

/** Passes on what both say until nobody says more; gives the refusal. */
function talk(gateway: Side, node: Side, forge: (h: Hello, by: 'gateway' | 'node') => Hello = (h) => h): string {
  gateway.handshake.begin();
  try {
    for (let said = 0; said < 6; said++) {
      for (const [from, to, by] of [
        [gateway, node, 'gateway'],
        [node, gateway, 'node'],
      ] as const) {
        for (const head of from.sent.splice(0)) to.handshake.control(forge(head, by));
      }
    }
  } catch (error) {
    return (error as Error).message;
  }
  return 'none';
}

describe('who proves himself', () => {
  test('two that know the secret know each other, on the gateway’s lane and pair', () => {
    const [gateway, node] = [side('gateway'), side('pool-manager')];
    assert.equal(talk(gateway, node), 'none');
    assert.equal(gateway.done[0]?.incarnation, 'pool-manager-life');
    assert.deepEqual([node.done[0]?.id, node.done[0]?.lane, node.done[0]?.pair], ['gateway', 'bulk', 'pair-1']);
  });

  test('one version apart is served, in both directions', () => {
    assert.equal(talk(side('gateway', { version: 2 }), side('pool-manager')), 'none');
    assert.equal(talk(side('gateway'), side('pool-manager', { version: 0 })), 'none');
  });

  const refusals: readonly (readonly [string, string, Side, Side, ((h: Hello, by: string) => Hello)?])[] = [
    ['a gateway with another secret', 'wrong proof', side('gateway', {}, 'another'), side('pool-manager')],
    ['a version two apart', 'link version 3 is not served', side('gateway', { version: 3 }), side('pool-manager')],
    [
      'a gateway that says it is a node',
      'wrong role pool-manager',
      side('gateway'),
      side('pool-manager'),
      (h) => ({ ...h, role: 'pool-manager' }),
    ],
    ['a short nonce', 'bad nonce', side('gateway', { nonce: 'short' }), side('pool-manager')],
    [
      'a proof before the greeting',
      'proof before greeting',
      side('gateway'),
      side('pool-manager'),
      (h) => ({ ...h, proof: 'x' }),
    ],
    [
      'a greeting instead of the proof',
      'greeted twice',
      side('gateway'),
      side('pool-manager'),
      (h, by) => (by === 'gateway' ? ({ ...h, proof: undefined } as unknown as Hello) : h),
    ],
    [
      'another identity in the proof',
      'proof of another greeting',
      side('gateway'),
      side('pool-manager'),
      (h) => (h.proof ? { ...h, id: 'someone' } : h),
    ],
    [
      'another lane in between',
      'wrong proof',
      side('gateway'),
      side('pool-manager'),
      (h, by) => (by === 'gateway' ? { ...h, lane: 'small' } : { ...h, lane: 'bulk' }),
    ],
    [
      'another version in between',
      'wrong proof',
      side('gateway'),
      side('pool-manager'),
      (h, by) => (by === 'gateway' ? { ...h, version: 0 } : h),
    ],
    [
      'our own words thrown back',
      'wrong role gateway',
      side('gateway'),
      side('pool-manager'),
      (h, by) => (by === 'node' ? { ...h, role: 'gateway' } : h),
    ],
  ];
  for (const [who, why, gateway, node, forge] of refusals) {
    test(`${who} is refused: ${why}`, () => {
      assert.equal(talk(gateway, node, forge), `bad-handshake: ${why}`);
      assert.equal(node.done.length, 0);
    });
  }

  test('a node that takes any proof but does not know the secret is refused by the gateway', () => {
    const gateway = side('gateway');
    gateway.handshake.begin();
    const node = { kind: 'hello', version: 1, role: 'pool-manager', id: 'n', incarnation: 'i' } as const;
    const greeting = { ...node, lane: 'bulk' as const, pair: 'pair-1', nonce: 'node-nonce-0123456789' };
    gateway.handshake.control(greeting);
    assert.throws(() => gateway.handshake.control({ ...greeting, proof: 'forged' }), /wrong proof/);
    assert.equal(gateway.done.length, 0);
  });

  test('the node does not prove itself to a gateway that has not', () => {
    const [gateway, node] = [side('gateway', {}, 'another'), side('pool-manager')];
    const proofs: Hello[] = [];
    talk(gateway, node, (h, by) => {
      if (by === 'node' && h.proof !== undefined) proofs.push(h);
      return h;
    });
    assert.deepEqual(proofs, []);
  });

  test('anything else before the end is refused', () => {
    const { handshake } = side('pool-manager');
    assert.throws(() => handshake.control({ kind: 'ping', n: 1, reply: false }), /ping before the handshake was over/);
    assert.throws(
      () =>
        handshake.message({
          stream: 1,
          seq: 0,
          head: { kind: 'close', stream: 1 },
          body: new Uint8Array(0),
          total: 1,
          fresh: 1,
        }),
      /close before the handshake/,
    );
  });
});
