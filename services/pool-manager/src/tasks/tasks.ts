// The tasks of this node (design §4 amendment 9, §5 "Obligations"), in front of the dispatcher: calls that may become
// tasks pass through here, and what is asked about a task is answered here. Ends are written to the shared store, so
// that they outlive this node; what is open lives and dies with it.

import { copyOf } from '@lockkeeper/protocol/json/bytes';
import type { Open } from '@lockkeeper/protocol/link/frames';
import type { Clock } from '@lockkeeper/state/clock';
import { samePrincipal, type TaskStore } from '@lockkeeper/state/tasks/task-store';
import { faultOf } from '../errors.ts';
import type { Dispatcher, OpenStream, StreamReply, TaskedUpstream } from '../link/contract.ts';
import type { Lease } from '../pool/contract.ts';
import type { Log, ResultHead } from '../raise/contract.ts';
import { KeptTask } from './kept-task.ts';
import { Promotable } from './promotable.ts';
import { readUpstreamTask } from './task-text.ts';
import { UpstreamTask } from './upstream-task.ts';

export interface TasksDeps {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly maxTasks?: number;
  readonly maxPerPrincipal?: number;
}

/** A result of the exchange below, and whether its lease stays with us. */
export interface Adopted {
  readonly head: ResultHead;
  readonly members: Uint8Array;
  readonly kept: boolean;
}

export interface Tasks {
  /** The dispatcher with tasks in front of it. */
  around(inner: Dispatcher): Dispatcher;
  /** A modern server answered with a task of its own. */
  adopt(head: Open, result: ResultHead, members: Uint8Array, lease: Lease): Adopted;
  /** Open ones. */
  readonly size: number;
  /** Resolves when none is open any more. */
  idle(): Promise<void>;
  /** Ends the open ones as lost; resolves when that is written. */
  close(words: string): Promise<void>;
}

type Task = KeptTask | UpstreamTask;

const GONE: OpenStream = { vanished: () => {} };
const POLL_MS = 2_000;
/** More of a result than this stays with the node alone, and of all such results no more than that. */
const MAX_STORED = 1024 * 1024;
const MAX_HELD = 64 * 1024 * 1024;
/** Rounds of questions after which a call goes on as a task (design ruling 10). */
const MAX_ROUNDS = 6;
const MAX_COUNTED = 10_000;

export function createTasks(deps: TasksDeps): Tasks {
  const { clock, store, log } = deps;
  const maxTasks = deps.maxTasks ?? 10_000;
  const maxPerPrincipal = deps.maxPerPrincipal ?? 200;
  const tasks = new Map<string, Task>();
  const byXid = new Map<string, KeptTask>();
  const rounds = new Map<string, number>();
  const waiters = new Set<() => void>();
  /** Open ones of each person and program. */
  const own = new Map<string, number>();
  const writes = new Set<Promise<void>>();
  let open = 0;
  let held = 0;

  function room({ principal }: Open): boolean {
    return open < maxTasks && (own.get(personOf(principal)) ?? 0) < maxPerPrincipal;
  }

  function count(task: Task, by: 1 | -1): void {
    const who = personOf(task.head.principal);
    const now = (own.get(who) ?? 0) + by;
    if (now > 0) own.set(who, now);
    else own.delete(who);
    open += by;
  }

  function add(task: Task): void {
    tasks.set(task.id, task);
    count(task, 1);
    clock.setTimer(task.endsAt - clock.now() + 1_000, () => drop(task)).unref?.();
  }

  function drop(task: Task): void {
    if (tasks.get(task.id) === task) {
      tasks.delete(task.id);
      held -= task.over && task.size > MAX_STORED ? task.size : 0;
    }
    if (byXid.get(task.head.xid) === task) byXid.delete(task.head.xid);
  }

  function changed(task: Task): void {
    const { tenant } = task.head.principal;
    const hint = () => behind(store.changed(tenant, task.id));
    if (!task.over) hint();
    else if (tasks.get(task.id) === task) {
      ended(task);
      if (task.size <= MAX_STORED || held + task.size > MAX_HELD) keepEnd(task);
      else {
        held += task.size;
        hint();
      }
    }
  }

  function keepEnd(task: Task): void {
    const { tenant } = task.head.principal;
    if (task.size > MAX_STORED) task.tooLarge();
    const members = Buffer.from(task.members()).toString();
    // Kept here until it is known to be there: a reader finds it in the one place or in the other.
    behind(store.end(tenant, task.id, members, task.endsAt - clock.now()).then(() => stored(task)));
  }

  /** Seals of its exchange still lead to it; who asks for its end reads the store. */
  function stored(task: Task): void {
    if (tasks.get(task.id) === task) tasks.delete(task.id);
    task.forget();
  }

  function ended(task: Task): void {
    count(task, -1);
    if (open > 0) return;
    for (const wake of waiters) wake();
    waiters.clear();
  }

  function behind(work: Promise<unknown>): void {
    const done = work
      .then(
        () => {},
        (error: unknown) => log.warn({ err: error }, 'a task could not be written'),
      )
      .finally(() => writes.delete(done));
    writes.add(done);
  }

  function counted(head: Open): number {
    if (head.state === undefined || head.wait === true) return 0;
    const count = (rounds.get(head.xid) ?? 0) + 1;
    rounds.delete(head.xid);
    rounds.set(head.xid, count);
    for (const oldest of rounds.keys()) {
      if (rounds.size <= MAX_COUNTED) break;
      rounds.delete(oldest);
    }
    return count;
  }

  function openCall(inner: Dispatcher, head: Open, body: Uint8Array, reply: StreamReply): OpenStream {
    const offer = head.task;
    const earlier = byXid.get(head.xid);
    if (earlier !== undefined && sameCaller(earlier, head)) return again(earlier, reply);
    if (offer === undefined) return inner.open(head, body, reply);
    if (tasks.has(offer.id) || !room(head)) {
      const { task: _task, ...plain } = head;
      return inner.open(plain, body, reply);
    }
    const afterMs = counted(head) >= MAX_ROUNDS ? 0 : offer.promoteAfterMs;
    const keep = (_head: Open, upstream: TaskedUpstream | null) => promote(inner, head, body, upstream);
    const promotable = new Promotable({ clock, keep }, head, reply, afterMs);
    promotable.attach(inner.open(head, body, promotable));
    return promotable;
  }

  /** Earlier seals of the exchange return the same task. */
  function again(task: KeptTask, reply: StreamReply): OpenStream {
    reply.started();
    reply.result({ resultType: 'task' }, task.created());
    return GONE;
  }

  function promote(inner: Dispatcher, head: Open, body: Uint8Array, upstream: TaskedUpstream | null): KeptTask | null {
    const offer = head.task;
    if (offer === undefined || tasks.has(offer.id) || !room(head)) return null;
    const words = upstream?.statusMessage;
    const task = new KeptTask(
      { inner, clock, changed },
      {
        head,
        body,
        id: offer.id,
        ttlMs: Math.min(upstream?.ttlMs ?? offer.ttlMs, offer.ttlMs),
        pollIntervalMs: upstream?.pollIntervalMs ?? POLL_MS,
        ...(words === undefined ? {} : { statusMessage: words }),
      },
    );
    add(task);
    byXid.set(head.xid, task);
    return task;
  }

  function adopt(head: Open, result: ResultHead, members: Uint8Array, lease: Lease): Adopted {
    const offer = head.task;
    const id = offer?.id ?? '';
    const text = readUpstreamTask(members, id, offer?.ttlMs ?? 1, false);
    if (offer === undefined || typeof text === 'string') return { head: result, members, kept: false };
    const before = tasks.get(id);
    if (before instanceof KeptTask) {
      before.leave();
      ended(before);
    }
    const known = { ...text, members: copyOf(text.members) };
    const ttlMs = offer.ttlMs;
    add(new UpstreamTask({ clock, changed }, { head, id, ttlMs, lease, text: known }));
    const origin = { ...result.origin, upstreamTask: text.upstreamId };
    return { head: { ...result, origin }, members: known.members, kept: true };
  }

  /** tasks/get, tasks/update, tasks/cancel; `name` is our handle. */
  function about(head: Open, body: Uint8Array, reply: StreamReply): OpenStream {
    const task = tasks.get(head.name ?? '');
    if (task === undefined || !samePrincipal(task.head.principal, head.principal)) {
      reply.fault(faultOf('unknown-exchange', { message: 'no such task here' }));
      return GONE;
    }
    reply.started();
    if (task instanceof UpstreamTask) {
      if (head.method === 'tasks/get') task.get(reply, head);
      else if (head.method === 'tasks/update') task.update(reply, body, head);
      else task.cancel(reply, head);
      return GONE;
    }
    if (head.method === 'tasks/update') task.update(body, head);
    else if (head.method === 'tasks/cancel') task.cancel('the client cancelled it');
    const members = head.method === 'tasks/get' ? task.members() : new Uint8Array(0);
    reply.result({ resultType: 'complete' }, members);
    return GONE;
  }

  return {
    around: (inner) => ({
      open(head, body, reply) {
        if (ABOUT.has(head.method)) return about(head, body, reply);
        return head.method === 'tools/call' ? openCall(inner, head, body, reply) : inner.open(head, body, reply);
      },
      cancel: (head) => inner.cancel(head),
      listen: (head, reply) => inner.listen(head, reply),
      notify: (head) => inner.notify(head),
    }),
    adopt,
    get size() {
      return open;
    },
    idle() {
      if (open === 0) return Promise.resolve();
      return new Promise((resolve) => waiters.add(resolve));
    },
    async close(words) {
      const fault = faultOf('lost', { message: words, mayHaveRun: true });
      for (const task of [...tasks.values()]) {
        if (task instanceof UpstreamTask) task.lost(words);
        else task.fault(fault);
      }
      await Promise.all(writes);
    },
  };
}

const ABOUT: ReadonlySet<string> = new Set(['tasks/get', 'tasks/update', 'tasks/cancel']);

function personOf({ tenant, issuer, subject, client }: Open['principal']): string {
  return JSON.stringify([tenant, issuer, subject, client]);
}

function sameCaller(task: KeptTask, head: Open): boolean {
  return samePrincipal(task.head.principal, head.principal) && task.head.session === head.session;
}
