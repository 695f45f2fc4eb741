// The tasks of a node with a scripted dispatcher below and recording callers above; the clock is the test's.

import type { Open } from '@lockkeeper/protocol/link/frames';
import { createMemoryStore } from '@lockkeeper/state/memory/store';
import type { Store } from '@lockkeeper/state/store';
import { createTaskStore } from '@lockkeeper/state/tasks/task-store';
import type { Dispatcher, OpenStream, StreamReply } from '../../src/link/contract.ts';
import type { FaultHead, ResultHead } from '../../src/raise/contract.ts';
import { createTasks, type Tasks } from '../../src/tasks/tasks.ts';
import { notedLog, openOf } from '../raise/fake.ts';

type Json = Record<string, unknown>;

/** One `open` as the dispatcher got it. */
export interface Opened {
  readonly head: Open;
  readonly body: string;
  readonly reply: StreamReply;
  readonly left: string[];
  prolonged: number;
}

export interface Answered {
  readonly events: string[];
  started: boolean;
  result?: ResultHead;
  value?: Json;
  fault?: FaultHead;
}

export interface Stage {
  readonly tasks: Tasks;
  readonly store: Store;
  readonly opened: Opened[];
  readonly cancelled: string[];
  advance(ms: number): Promise<void>;
  open(method: string, more?: Partial<Open>, params?: string): Answered & { readonly stream: OpenStream };
  /** tasks/get of a handle. */
  get(id: string, more?: Partial<Open>): Answered;
  /** What the store has of its end. */
  end(id: string): Promise<Json | null>;
}

export const OFFER = { id: 'handle-1', promoteAfterMs: 1_000, ttlMs: 60_000 };

export function membersIn(members: Uint8Array): Json {
  return JSON.parse(`{${Buffer.from(members).toString()}}`) as Json;
}

export function stage(more: { readonly maxTasks?: number; readonly maxPerPrincipal?: number } = {}): Stage {
  let now = 1_000_000;
  const timers = new Set<{ at: number; run: () => void }>();
  const clock = {
    now: () => now,
    setTimer(ms: number, run: () => void) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return { clear: () => void timers.delete(timer) };
    },
  };
  const store = createMemoryStore({ clock, warn: () => undefined });
  const taskStore = createTaskStore(store, clock.now);
  const tasks = createTasks({ store: taskStore, clock, log: notedLog(), ...more });
  const opened: Opened[] = [];
  const cancelled: string[] = [];
  const inner: Dispatcher = {
    open(head, body, reply) {
      const one: Opened = { head, body: Buffer.from(body).toString(), reply, left: [], prolonged: 0 };
      opened.push(one);
      return {
        vanished: (how) => void one.left.push(how),
        prolong: (ms) => {
          one.prolonged = ms;
        },
      };
    },
    cancel: ({ xid }) => void cancelled.push(xid),
    listen: () => ({ vanished: () => {} }),
    notify: () => {},
  };
  const dispatcher = tasks.around(inner);

  function open(method: string, head: Partial<Open> = {}, params = ''): Answered & { stream: OpenStream } {
    const answered: Answered = { events: [], started: false };
    const stream = dispatcher.open(openOf(method, head), Buffer.from(params), {
      started: () => {
        answered.started = true;
      },
      accepted: () => {},
      event: (name) => void answered.events.push(name),
      result: (result, members) => {
        answered.result = result;
        answered.value = membersIn(members);
      },
      fault: (fault) => {
        answered.fault = fault;
      },
      queuedBytes: () => 0,
    });
    return Object.assign(answered, { stream });
  }

  return {
    tasks,
    store,
    opened,
    cancelled,
    open,
    get: (id, head) => open('tasks/get', { name: id, ...head }),
    async advance(ms) {
      const until = now + ms;
      for (;;) {
        const due = [...timers].filter((t) => t.at <= until).sort((a, b) => a.at - b.at)[0];
        if (due === undefined) break;
        now = Math.max(now, due.at);
        timers.delete(due);
        due.run();
        await settled();
      }
      now = until;
      await settled();
    },
    async end(id) {
      await settled();
      const stored = await store.get(`lk:{acme}:task:${id}:end`);
      return stored === null ? null : (JSON.parse(`{${stored}}`) as Json);
    },
  };
}

function settled(): Promise<void> {
  return new Promise((done) => setImmediate(done));
}
