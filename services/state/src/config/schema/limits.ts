// Sizes, counts and times. Each has a bound because nothing is unbounded; the defaults are generous.

import { count, group } from './node.ts';

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

export const LIMITS = group(
  'Sizes, counts and times.',
  {
    maxBodyBytes: count('Largest request body.', 1024, 1024 * MIB, 4 * MIB),
    maxLineBytes: count(
      'Longest line that a server may write. A longer one fails its exchange.',
      1024,
      1024 * MIB,
      16 * MIB,
    ),
    maxResultBytes: count('Largest result of one exchange.', 1024, 1024 * MIB, 16 * MIB),
    maxLinesPerSecond: count(
      'Lines that a server may write in a second, averaged over ten; by URL: events on the streams of one session. One that floods is ended.',
      10,
      10_000_000,
      50_000,
    ),
    maxBytesPerSecond: count(
      'Bytes that a server may write in a second, averaged over ten; by URL: on those streams. One that floods is ended.',
      65_536,
      1_099_511_627_776,
      512 * MIB,
    ),
    maxBatch: count('Most messages in one batch (2025-03-26 only).', 1, 10_000, 100),
    maxDepth: count('Deepest nesting of a request body.', 8, 1024, 128),
    maxPerServer: count(
      'Most processes of one server on a node, all pool keys together, with those that find out what it is.',
      1,
      100_000,
      64,
    ),
    maxPerTenant: count(
      'Most processes of one tenant on a node, with those that find out what a server is.',
      1,
      100_000,
      128,
    ),
    maxPerNode: count('Most processes on a node, with those that find out what a server is.', 1, 100_000, 256),
    maxSessionsPerPrincipal: count(
      'Most legacy sessions of one person and client; in open mode all callers together are one. At the cap an unused one makes room.',
      1,
      1_000_000,
      1000,
    ),
    sessionIdleMs: count('An unused legacy session ends after this time.', 1000, 720 * HOUR_MS, HOUR_MS / 2),
    sessionMaxMs: count('A legacy session ends at this age.', 1000, 8760 * HOUR_MS, 24 * HOUR_MS),
    queueMs: count('Longest wait for a process; then the answer is "busy".', 1, HOUR_MS, 30_000),
    maxQueue: count('Most calls that wait for processes of one pool key.', 1, 1_000_000, 1000),
    keepAliveMs: count('Pause between keep-alive comments on a quiet stream.', 1000, 55_000, 15_000),
    holdMs: count('How long a reply may stay undecided between JSON and a stream.', 0, 10_000, 250),
    maxInFlightPerPrincipal: count(
      'Most calls of one person at once, on one replica; a result counts until it has been read.',
      1,
      1_000_000,
      1024,
    ),
    pageSize: count('Entries of one page of a list. Some clients read the first page only.', 1, 100_000, 1000),
    listTtlMs: count('How long a list of a server may be served from memory.', 0, 24 * HOUR_MS, 60_000),
    aggregateWaitMs: count(
      'How long an aggregate route waits for a server that is not there yet, before it lists and initializes without it; clients are told when it comes. How long a start may take is startTimeoutMs of the server.',
      0,
      HOUR_MS / 6,
      5000,
    ),
    promoteAfterMs: count(
      'A call of a client that takes tasks becomes a task when it runs longer. 0: at once.',
      0,
      24 * HOUR_MS,
      30_000,
    ),
    taskTtlMs: count('How long a task and its result may be asked for, from its start.', 1000, 720 * HOUR_MS, HOUR_MS),
    drainMs: count('How long work may go on after a process was told to end.', 0, 24 * HOUR_MS, 30_000),
    drainHumanMs: count(
      'How long a pool manager that was told to end goes on for calls that wait for a person, and for tasks; new work goes elsewhere meanwhile. Absent: humanMs and drainMs together.',
      0,
      48 * HOUR_MS,
    ),
    drainLeadMs: count(
      'How long of it a gateway, unready by then, still takes new requests, until load balancers have noticed. Standalone: not at all.',
      0,
      HOUR_MS,
      2000,
    ),
    humanMs: count(
      'How long a person may take to answer the questions of a call; then the call is given up.',
      1000,
      24 * HOUR_MS,
      HOUR_MS / 6,
    ),
    maxParkedPerPrincipal: count('Most calls of one person that wait for answers, on one node.', 1, 100_000, 100),
    maxParkedPerServer: count('Most calls to one server that wait for answers, on one node.', 1, 1_000_000, 1000),
  },
  { default: {} },
);
