// The servers behind the gateway and how their processes are kept (design §5).

import { HTTP } from './http.ts';
import { serverName, tenantName } from './names.ts';
import { choice, count, flag, group, list, type SchemaNode, text } from './node.ts';

const DAY_MS = 24 * 3600 * 1000;

const PROCESS_LIMITS = group(
  'What the kernel holds each of its processes to (`prlimit` must be installed). Absent: as the pool manager itself.',
  {
    openFiles: count('Open files.', 16, 1_048_576),
    processes: count(
      'Processes and threads, counted over all of the same user, so only of use with a `uid` of its own (or a cgroup). Root is not held to it.',
      1,
      4_194_304,
    ),
    fileSizeMb: count('Size of a file it writes.', 0, 1_048_576),
    cpuSeconds: count('Processor time in all; then it is killed.', 1, 31_536_000),
    addressSpaceMb: count(
      'Address space. Node and others reserve far more than they use: for those take `pool.maxMemoryMb`.',
      16,
      1_048_576,
    ),
  },
);

const STDIO = group(
  'How to start it. It gets a scrubbed environment: what it needs is named here.',
  {
    command: text('Program to run: a path, or a name that is looked up on PATH. Not a shell line.', {
      examples: ['node'],
    }),
    args: list(
      'Its arguments. Never put a secret here: every user of the machine can read them.',
      {
        description: 'One argument.',
        type: 'string',
        maxLength: 32_768,
      },
      { default: [] },
    ),
    env: {
      description: 'Its environment variables. For secrets use `${env:NAME}` or `${file:path}`.',
      type: 'object',
      propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]*$' },
      additionalProperties: { description: 'The value.', type: 'string', maxLength: 131_072 },
      default: {},
    },
    cwd: text(
      'Its working directory, relative to this file. `~`: its private directory, which is its HOME too, empty at first and taken away with it.',
      { default: '.' },
    ),
    limits: PROCESS_LIMITS,
    uid: count(
      'User it runs as, by number. The pool manager must be root for that, and have `setpriv`. Absent: the pool manager’s own, and then it can read and end whatever that user can: the pool manager with its secrets, and every other server without a `uid` of its own.',
      1,
      4_294_967_294,
    ),
    gid: count('Group it runs as; no others. Default: the number of `uid`.', 1, 4_294_967_294),
  },
  { required: ['command'] },
);

const ask = (what: string): SchemaNode =>
  choice(`${what} Default: \`caller\`; \`never\` for a shared server.`, ['caller', 'never']);

const POOL = group(
  'How many processes are kept per pool key (see `isolation`).',
  {
    max: count('Most processes.', 1, 10_000, 8),
    minWarm: count('Processes that are started before they are needed.', 0, 10_000, 0),
    idleMs: count('An unused process is stopped after this time.', 1000, 30 * DAY_MS, 300_000),
    maxAgeMs: count('A process takes no new work at this age.', 1000, 365 * DAY_MS, DAY_MS),
    maxUses: count('A process takes no new work after so many calls.', 1, 1_000_000_000, 1_000_000),
    nodes: count(
      'A `shared` server that is busy may be called on so many nodes at once, each with a pool of its own. Default: 1.',
      1,
      64,
    ),
    maxMemoryMb: count(
      'A process that uses more memory, together with all it has started, takes no new work and is replaced when it is free (but for `session`, whose state it holds). 0: no cap. Default: 1024.',
      0,
      1_048_576,
    ),
    hardMemoryMb: count(
      'A process that uses more is ended at once; its calls fail and may have run in part. 0: no cap. Default: four times maxMemoryMb.',
      0,
      1_048_576,
    ),
  },
  { default: {} },
);

export const SERVER = group(
  'One MCP server.',
  {
    name: serverName('Its name, unique in its tenant. Aggregate routes put it before tool names.'),
    tenant: tenantName('The tenant it belongs to.'),
    stdio: STDIO,
    http: HTTP,
    isolation: choice(
      'Who may share a process. `shared`: everyone of the tenant; `exclusive`: one call, then it ends; `user`: one person; `session`: one session.',
      ['shared', 'exclusive', 'user', 'session'],
      { default: 'user' },
    ),
    keepsNothing: flag(
      'For `exclusive`: you state that the server keeps nothing of a call, so a process may be lent again.',
      false,
    ),
    ask: group('Whether its questions reach the caller.', {
      roots: ask('Which folders it may see.'),
      sampling: ask('Requests to the caller’s model.'),
      elicitation: ask('Questions to the person.'),
    }),
    roots: list(
      'Folders it is told of when it asks at its start and its caller does not answer.',
      group(
        'One folder.',
        {
          uri: text('Its URI.', {
            pattern: '^file://',
            errorMessage: 'a root is a file:// URI',
            examples: ['file:///data'],
          }),
          name: text('What it is called.'),
        },
        { required: ['uri'] },
      ),
      { maxItems: 100 },
    ),
    pool: POOL,
    era: choice('Which protocol era it speaks. `auto`: found out by a probe.', ['auto', 'legacy', 'modern'], {
      default: 'auto',
    }),
    startTimeoutMs: count('It must have introduced itself within this time.', 100, 3_600_000, 30_000),
    promoteAfterMs: count('Instead of the route’s or `limits.promoteAfterMs`, for calls to this server.', 0, DAY_MS),
    callTimeoutMs: count(
      'A call must end within this time; waiting for people is not counted.',
      100,
      7 * DAY_MS,
      300_000,
    ),
  },
  {
    required: ['name', 'tenant'],
    oneOf: [{ required: ['stdio'] }, { required: ['http'] }],
    errorMessage: 'give either stdio (a program to start) or http (a remote server)',
  },
);
