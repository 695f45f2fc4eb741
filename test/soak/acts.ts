// What people do at a server, one thing at a time. Each act counts how it ended, and that an answer is the caller's own.

import { setTimeout as pause } from 'node:timers/promises';
import type { Caller } from './callers.ts';
import type { Random } from './random.ts';
import type { SoakServer } from './servers.ts';
import { endOf, type Tally, textOf } from './tally.ts';
import type { Message, Reply } from './wire.ts';

export interface Visit {
  readonly caller: Caller;
  readonly server: SoakServer;
  readonly random: Random;
  readonly tally: Tally;
  /** A new word of the caller's own. */
  secret(): string;
}

type Act = (visit: Visit) => Promise<void>;

const URI = 'note://a';
const QUESTION = 'elicitation/create';

function wordsOf({ server, caller }: Visit, { message, status }: Reply): string {
  return `at ${server.name} by a ${caller.era} client: ${JSON.stringify(message ?? status)}`;
}

/** Counts a tool call; a good answer must be `wanted`, or begin with it. */
function counted(visit: Visit, act: string, reply: Reply, wanted: string, also: readonly string[] = []): string {
  const ended = endOf(reply);
  const text = textOf(reply);
  const right = ended !== 'ok' || text.startsWith(wanted);
  visit.tally.count(act, right ? ended : 'wrong answer', also, wordsOf(visit, reply));
  return ended;
}

async function echo(visit: Visit): Promise<void> {
  const secret = visit.secret();
  counted(visit, 'echo', await tool(visit, 'echo', { secret }), secret);
}

async function work(visit: Visit): Promise<void> {
  const { random } = visit;
  const secret = visit.secret();
  const args = { secret, steps: random.between(2, 6), everyMs: random.between(5, 60) };
  counted(visit, 'work', await tool(visit, 'work', args), secret);
}

/** Every word that this process was ever told; the wire looks whether one is another's. */
async function recall(visit: Visit): Promise<void> {
  const secret = visit.secret();
  counted(visit, 'recall', await tool(visit, 'recall', { secret }), secret);
}

async function big(visit: Visit): Promise<void> {
  const { random } = visit;
  const secret = visit.secret();
  const size = random.weighted([
    [4, 200_000],
    [3, 1_000_000],
    [1, 3_000_000],
    [1, 6_000_000],
  ]);
  const manners = random.chance(0.3) ? { restsMs: random.between(100, 1_000) } : {};
  const leaves = random.chance(0.2) ? { leaves: pause(random.between(20, 400)) } : {};
  const reply = await visit.caller.ask('tools/call', call('big', { secret, size }), { ...manners, ...leaves });
  counted(visit, 'big', reply, secret, ['result-too-large', 'too-slow']);
}

async function crash(visit: Visit): Promise<void> {
  const secret = visit.secret();
  const how = visit.random.one(['exit', 'kill', 'close']);
  counted(visit, 'crash', await tool(visit, 'crash', { secret, how }), 'never');
}

async function hang(visit: Visit): Promise<void> {
  counted(visit, 'hang', await tool(visit, 'hang', { secret: visit.secret() }), 'never');
}

async function spin(visit: Visit): Promise<void> {
  const secret = visit.secret();
  counted(visit, 'spin', await tool(visit, 'spin', { secret, ms: visit.random.between(20, 150) }), secret);
}

async function noise(visit: Visit): Promise<void> {
  const { random } = visit;
  const secret = visit.secret();
  const kind = random.one(['log', 'stderr', 'garbage']);
  const lines = kind === 'garbage' ? random.between(1, 8) : random.between(50, 3_000);
  counted(visit, `noise ${kind}`, await tool(visit, 'noise', { secret, kind, lines }), secret, ['upstream-protocol']);
}

async function leave(visit: Visit): Promise<void> {
  const secret = visit.secret();
  const [name, args] = visit.random.one([
    ['hang', {}],
    ['work', { steps: 20, everyMs: 40 }],
  ] as const);
  const leaves = pause(visit.random.between(5, 600));
  const reply = await visit.caller.ask('tools/call', call(name, { secret, ...args }), { leaves });
  counted(visit, 'leave', reply, secret);
}

/** A polite client says that it cancels, and hears no more of it. */
async function cancel(visit: Visit): Promise<void> {
  const { caller, random } = visit;
  const secret = visit.secret();
  const id = caller.nextId();
  const gone = pause(random.between(30, 500)).then(() => caller.cancel(id));
  const leaves = gone.then(() => pause(500));
  const manners = { leaves, mayEndEarly: true };
  const reply = await caller.ask('tools/call', call('work', { secret, steps: 40, everyMs: 40 }), manners);
  await gone;
  counted(visit, 'cancel', reply, secret, ['cancelled']);
}

async function lists(visit: Visit): Promise<void> {
  const method = visit.random.one(['tools/list', 'resources/list', 'tools/list']);
  const reply = await visit.caller.ask(method, {});
  visit.tally.count(method, endOf(reply), [], wordsOf(visit, reply));
}

async function question(visit: Visit, mood = moodOf(visit)): Promise<void> {
  if (visit.caller.era === 'legacy') await legacyQuestion(visit, mood);
  else await modernQuestion(visit, mood);
}

type Mood = 'accept' | 'decline' | 'silent' | 'twice';

function moodOf({ random }: Visit): Mood {
  return random.weighted<Mood>([
    [6, 'accept'],
    [2, 'decline'],
    [1, 'silent'],
    [1, 'twice'],
  ]);
}

const answerOf = (mood: Mood, code: string) =>
  mood === 'decline' ? { action: 'decline' } : { action: 'accept', content: { code } };

/** A server that may ask nobody asks nobody, and its caller is told so. */
const ASKED = ['cannot-ask', 'code -32021', 'capability'];
const askedAt = ({ server }: Visit) => (server.isolation === 'shared' ? [...ASKED, 'code -32603'] : ASKED);

async function legacyQuestion(visit: Visit, mood: Mood): Promise<void> {
  const secret = visit.secret();
  const hear = async (message: Message): Promise<void> => {
    if (message.method !== QUESTION || mood === 'silent') return;
    await visit.caller.answer(message, answerOf(mood, secret));
    if (mood === 'twice') await visit.caller.answer(message, answerOf(mood, secret));
  };
  const reply = await visit.caller.ask('tools/call', call('ask', { secret }), { hear });
  counted(visit, `question ${mood}`, reply, secret, askedAt(visit));
}

async function modernQuestion(visit: Visit, mood: Mood): Promise<void> {
  const { caller } = visit;
  const secret = visit.secret();
  const asked = await tool(visit, 'ask', { secret });
  const ended = counted(visit, 'question', asked, secret, ['asks', ...askedAt(visit)]);
  if (ended !== 'asks' || mood === 'silent') return;
  const { inputRequests, requestState } = asked.message!.result as {
    readonly inputRequests?: Readonly<Record<string, unknown>>;
    readonly requestState?: string;
  };
  const inputResponses = Object.fromEntries(
    Object.keys(inputRequests ?? {}).map((key) => [key, answerOf(mood, secret)]),
  );
  const retry = () =>
    caller.ask('tools/call', {
      ...call('ask', { secret }),
      inputResponses,
      ...(requestState !== undefined && { requestState }),
    });
  const replies = await Promise.all(mood === 'twice' ? [retry(), retry()] : [retry()]);
  for (const reply of replies) counted(visit, `question ${mood}`, reply, secret, ['code -32602', ...askedAt(visit)]);
}

async function listening(visit: Visit): Promise<void> {
  const { caller, random, tally } = visit;
  const over = pause(random.between(300, 2_500));
  const stream = caller.listen([URI], over);
  if (caller.era === 'legacy') await subscription(visit);
  const secret = visit.secret();
  counted(visit, 'touch', await tool(visit, 'touch', { secret, uri: URI }), secret);
  const reply = await stream;
  tally.count('listen', endOf(reply), [], wordsOf(visit, reply));
}

async function subscription(visit: Visit): Promise<void> {
  const { caller, random, tally } = visit;
  const subscribed = await caller.ask('resources/subscribe', { uri: URI });
  tally.count('subscribe', endOf(subscribed), notForAll(visit), wordsOf(visit, subscribed));
  if (random.chance(0.5)) return;
  const left = await caller.ask('resources/unsubscribe', { uri: URI });
  tally.count('unsubscribe', endOf(left), notForAll(visit), wordsOf(visit, left));
}

/** A process of one call keeps no subscription. */
function notForAll({ server }: Visit): readonly string[] {
  return server.isolation === 'exclusive' ? ['code -32601', 'code -32602'] : [];
}

const call = (name: string, args: Record<string, unknown>) => ({ name, arguments: args });

function tool({ caller }: Visit, name: string, args: Record<string, unknown>): Promise<Reply> {
  return caller.ask('tools/call', call(name, args));
}

const ACTS: readonly (readonly [number, Act])[] = [
  [34, echo],
  [12, work],
  [8, recall],
  [5, big],
  [3, crash],
  [2, hang],
  [2, spin],
  [6, noise],
  [6, leave],
  [4, cancel],
  [7, lists],
  [10, (visit) => question(visit)],
  [4, listening],
];

/** Nothing that would end a process, nor a call before its time. */
export const PEACEFUL: typeof ACTS = [
  [10, echo],
  [6, work],
  [2, recall],
  [2, lists],
  [3, (visit) => question(visit, 'accept')],
];

export async function act(visit: Visit, acts: typeof ACTS = ACTS): Promise<void> {
  const chosen = visit.random.weighted(acts);
  try {
    // Where a process serves several by the operator's will, what it remembers is no fault of ours.
    await (chosen === recall && visit.server.mixed ? echo : chosen)(visit);
  } catch (error) {
    visit.tally.failed(`${chosen.name} at ${visit.server.name} (${visit.caller.era} client)`, error);
  }
}
