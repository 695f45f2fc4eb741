// Until when is a stream of a session open? (design §5 "Revocation")

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Snapshot } from '@lockkeeper/protocol/config/settings';
import type { Authenticated } from '../../src/exchange.ts';
import type { Session } from '../../src/session/record.ts';
import { createStanding } from '../../src/session/standing.ts';
import { snapshotOf } from '../http/rig.ts';
import { manualClock } from './manual-clock.ts';

const ISSUER = 'https://idp.example';
const JWT = { auth: { mode: 'jwt', issuers: [{ issuer: ISSUER, tenants: ['acme'] }] } as unknown as Snapshot['auth'] };
const allow = [{ server: 'everything', tools: ['*'], prompts: [], resources: [] }];
const POLICY = [{ name: 'r', tenant: 'acme', groups: ['dev'], allow }];
const good = (change: Partial<Snapshot> = {}): Snapshot => ({ ...snapshotOf(JWT), policy: POLICY, ...change });

const session = { id: 's', hash: 'h', record: { revision: '2025-06-18', transport: 'streamable' } } as Session;

function ticket(expiresAt: number | null, snapshot = good()): Authenticated {
  const principal = { tenant: 'acme', issuer: ISSUER, subject: 'alice', client: 'c' };
  const route = snapshot.routes[0]!;
  return { xid: 'x', snapshot, route, caller: { principal, groups: ['dev'], expiresAt }, trace: {}, arrivedAt: 0 };
}

function stage(expiresAt: number | null, as: Session = session, snapshot = good()) {
  const clock = manualClock();
  const standing = createStanding({ clock });
  let ended = 0;
  const letGo = standing.hold(as, ticket(expiresAt === null ? null : clock.now() + expiresAt, snapshot), () => {
    ended++;
  });
  return { clock, standing, letGo, ended: () => ended };
}

test('it ends with its token, once', async () => {
  const { clock, ended } = stage(1000);
  await clock.advance(999);
  assert.equal(ended(), 0);
  await clock.advance(5000);
  assert.equal(ended(), 1);
});

test('a fresher token puts its end off, an older one does not bring it nearer', async () => {
  const { clock, standing, ended } = stage(1000);
  standing.seen(session, ticket(clock.now() + 3000));
  standing.seen(session, ticket(clock.now() + 10));
  await clock.advance(2999);
  assert.equal(ended(), 0);
  await clock.advance(1);
  assert.equal(ended(), 1);
});

test('let go, it is told nothing; without an expiry it stands', async () => {
  const gone = stage(1000);
  gone.letGo();
  await gone.clock.advance(5000);
  gone.standing.reload(good({ routes: [] }));
  assert.equal(gone.ended(), 0);
  const open = stage(null);
  await open.clock.advance(1e9);
  assert.equal(open.ended(), 0);
});

const sse = { ...session, record: { ...session.record, transport: 'sse' } } as Session;
const [first, ...rest] = good().routes;
const RELOADS: readonly [string, Snapshot, 0 | 1, Session?][] = [
  ['nothing has changed', good(), 0],
  ['its route is no more', good({ routes: rest }), 1],
  ['its route is another tenant’s', good({ routes: [{ ...first!, tenant: 'umbrella' }] }), 1],
  ['its revision is not served any more', good({ routes: [{ ...first!, revisions: ['2025-11-25'] }] }), 1],
  ['HTTP+SSE is switched off', good({ routes: [{ ...first!, sse: false }] }), 1, sse],
  ['HTTP+SSE is switched off, and it is none', good({ routes: [{ ...first!, sse: false }] }), 0],
  ['the policy shows it nothing any more', good({ policy: [] }), 1],
  ['the policy shows it less', good({ policy: [{ ...POLICY[0]!, allow: [{ ...allow[0]!, tools: ['x'] }] }] }), 0],
  ['its issuer speaks for other tenants', good({ auth: { mode: 'jwt', issuers: [] } as never }), 1],
];
for (const [what, next, ends, as] of RELOADS) {
  test(`a reload after which ${what}: it ${ends === 1 ? 'ends' : 'stands'}`, () => {
    const { standing, ended } = stage(60_000, as);
    standing.reload(next);
    assert.equal(ended(), ends);
  });
}

test('who saw nothing from the start loses nothing by a reload', () => {
  const { standing, ended } = stage(60_000, session, good({ policy: [] }));
  standing.reload(good({ policy: [] }));
  assert.equal(ended(), 0);
});
