// Seats at an upstream: who shares a listen, when it is opened anew, and what is told after it was lost?
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../test/harness/eventually.ts';
import type { LinkAnswer, ListenListener, ListenRequest } from '../../src/link/contract.ts';
import type { ChangedList, News, Wanted } from '../../src/listen/contract.ts';
import { createHub } from '../../src/listen/hub.ts';
import type { Upstream } from '../../src/route/contract.ts';
import { fault, manualClock } from '../route/stage.ts';

interface Opened {
  readonly request: ListenRequest;
  readonly listener: ListenListener;
  closed: boolean;
}

function stage() {
  const opened: Opened[] = [];
  const stale: string[] = [];
  const clock = manualClock();
  const hub = createHub({
    link: {
      listen(request, listener) {
        const one = { request, listener, closed: false };
        opened.push(one);
        return { close: () => Object.assign(one, { closed: true }) };
      },
    },
    clock,
    random: () => 1,
    stale: (owner, list) => void stale.push(`${owner} ${list}`),
    log: () => {},
  });
  const at = (i: number): Opened => opened.at(i)!;
  const honour = (i: number, lists: readonly string[], uris: readonly string[] = []) => {
    const flags = ['tools', 'prompts', 'resources'].map((kind) => `"${kind}":${lists.includes(kind)}`).join(',');
    void at(i).listener.event('lk/honoured', Buffer.from(`${flags},"uris":${JSON.stringify(uris)}`), 1);
  };
  const lose = (i: number): void => at(i).listener.ended(fault('lost') as LinkAnswer);
  return { hub, opened, at, honour, lose, stale, clock };
}

const listener = (client: string, isolation = 'user', owner = 'o') => ({
  up: { owner, spec: { name: 's', tenant: 't', digest: 'd', isolation }, capabilities: {} } as unknown as Upstream,
  principal: { tenant: 't', issuer: 'i', subject: 'a', client },
  session: null,
});

const want = (lists: readonly ChangedList[], uris: readonly string[] = []): Wanted => ({
  lists: new Set(lists),
  uris: new Set(uris),
});

test('one context has one listen, however many sit there; another has its own; the last to leave closes it', async () => {
  const { hub, opened, at, honour } = stage();
  const seats = [1, 2, 3].map(() => hub.sit(listener('app'), want(['tools']), () => {}));
  hub.sit(listener('other'), want(['tools']), () => {});
  hub.sit(listener('one', 'shared', 'everybody'), want(['tools']), () => {});
  hub.sit(listener('two', 'shared', 'everybody'), want(['tools']), () => {});
  assert.equal(opened.length, 3);
  honour(0, ['tools']);
  assert.deepEqual([...(await seats[2]!.ready())!.lists], ['tools']);
  for (const seat of seats.slice(1)) seat.leave();
  assert.equal(at(0).closed, false);
  seats[0]!.leave();
  assert.equal(at(0).closed, true);
  assert.equal(hub.size, 2);
});

test('a new wish opens the union, and the old listen is closed when that is acknowledged', async () => {
  const { hub, opened, at, honour } = stage();
  const first = hub.sit(listener('app'), want(['tools']), () => {});
  honour(0, ['tools']);
  await first.ready();
  const second = hub.sit(listener('app'), want([], ['x:1', 'x:2']), () => {});
  assert.deepEqual(at(1).request.filter.uris, ['x:1', 'x:2']);
  assert.equal(at(1).request.filter.tools, true);
  assert.equal(at(0).closed, false);
  honour(1, ['tools'], ['x:2']);
  assert.deepEqual([...(await second.ready())!.uris], ['x:2']);
  assert.equal(at(0).closed, true);
  assert.equal(opened.length, 2);
});

test('each seat hears what it wants, and every list change makes the kept list stale', () => {
  const { hub, at, honour, stale } = stage();
  const heard: News[][] = [[], []];
  hub.sit(listener('app'), want(['tools']), (news) => void heard[0]!.push(news));
  hub.sit(listener('app'), want([], ['x:1']), (news) => void heard[1]!.push(news));
  honour(0, ['tools']);
  honour(1, ['tools'], ['x:1']);
  const { listener: link } = at(1);
  void link.event('notifications/tools/list_changed', Buffer.alloc(0), 2);
  void link.event('notifications/prompts/list_changed', Buffer.alloc(0), 3);
  void link.event('notifications/resources/updated', Buffer.from('"uri":"x:1/part"'), 4);
  void link.event('notifications/resources/updated', Buffer.from('"uri":"x:11"'), 5);
  assert.deepEqual(heard, [[{ kind: 'list', list: 'tools' }], [{ kind: 'updated', uri: 'x:1/part' }]]);
  assert.deepEqual(stale, ['o tools', 'o prompts']);
});

test('lost, it is opened again after a while, and then everything honoured is called changed, once', () => {
  const { hub, opened, honour, lose, clock } = stage();
  const heard: News[] = [];
  hub.sit(listener('app'), want(['tools'], ['x:1']), (news) => void heard.push(news));
  honour(0, ['tools'], ['x:1']);
  lose(0);
  assert.equal(opened.length, 1);
  clock.advance(300);
  assert.equal(opened.length, 2);
  lose(1);
  clock.advance(300);
  assert.equal(opened.length, 2, 'the second wait is longer');
  clock.advance(300);
  assert.deepEqual(heard, []);
  honour(2, ['tools'], ['x:1']);
  assert.deepEqual(heard, [
    { kind: 'list', list: 'tools' },
    { kind: 'updated', uri: 'x:1' },
  ]);
});

test('who sits down where nothing can be had is told so, and heard of when it is back', async () => {
  const { hub, honour, lose, clock } = stage();
  const heard: News[] = [];
  const seat = hub.sit(listener('app'), want(['tools']), (news) => void heard.push(news));
  const ready = seat.ready();
  lose(0);
  assert.equal(await ready, null);
  clock.advance(300);
  honour(1, ['tools']);
  assert.deepEqual(heard, [{ kind: 'list', list: 'tools' }]);
});

test('a no of nobody is no refusal: where no process could say yes or no, who asks is told that nobody could', async () => {
  const { hub, at } = stage();
  const seat = hub.sit(listener('app'), want(['tools'], ['x:1']), () => {});
  const ready = seat.ready();
  const told = (more: string) =>
    void at(0).listener.event('lk/honoured', Buffer.from(`"tools":true,"uris":[]${more}`), 1);
  told(',"unsure":true');
  assert.equal(await ready, null);
  assert.equal(await seat.ready(), null);
  told('');
  assert.deepEqual([...(await seat.ready())!.uris], []);
});

test('GB-069: what is kept of an upstream is listened to while it is kept, and no longer', async () => {
  const { hub, opened, at } = stage();
  hub.follow(listener('app'), 40);
  hub.follow(listener('app'), 60);
  assert.equal(opened.length, 1);
  assert.deepEqual(
    { ...at(0).request.filter, uris: undefined, taskIds: undefined },
    {
      ...{ tools: true, prompts: true, resources: true, uris: undefined, taskIds: undefined },
    },
  );
  await eventually(() => at(0).closed, { deadlineMs: 5_000 });
  hub.follow(listener('app', 'exclusive'), 60);
  assert.equal(opened.length, 1, 'a process of one call has nothing to say to the next');
});
