// The whole configuration as JSON Schema, published as ops/config.schema.json and ops/config-reference.md.

import { AUTH } from './auth.ts';
import { CREDENTIALS } from './http.ts';
import { LIMITS } from './limits.ts';
import { LISTEN, PUBLIC_BASE_URL } from './listen.ts';
import { tenantName } from './names.ts';
import { choice, count, group, list, type SchemaNode, text } from './node.ts';
import { POLICY } from './policy.ts';
import { ROUTE } from './route.ts';
import { SERVER } from './server.ts';

const STATE = text(
  'Where shared state lives: `memory` (one process), or a `redis://` or `rediss://` (TLS) URL. A change needs a restart.',
  {
    default: 'memory',
    pattern: '^(memory|rediss?://[^\\s/].*)$',
    errorMessage: 'give memory, redis://host:port or rediss://host:port',
    examples: ['redis://:${env:REDIS_PASSWORD}@redis:6379'],
  },
);

const LINK = group(
  'Between gateways and pool managers. A change needs a restart.',
  {
    host: text('Address on which a pool manager takes gateways.', { default: '127.0.0.1', maxLength: 255 }),
    port: count('Its port; 0 takes a free one.', 0, 65_535, 9180),
    advertise: text(
      'host:port that gateways dial, where it differs from the bound one. Usually the pod’s own address.',
      {
        pattern: '^[^\\s/]+:[0-9]{1,5}$',
        errorMessage: 'give host:port',
        examples: ['${env:POD_IP}:9180'],
      },
    ),
    socketDir: text(
      'Directory for unix sockets, in place of host and port, where gateways and pool managers share a host: less work per call than TCP. Made with access for its owner only.',
      { maxLength: 64, examples: ['/run/lockkeeper'] },
    ),
    adminPort: count(
      'Port of a pool manager’s health and metrics, on `listen.adminHost`; 0 takes a free one.',
      0,
      65_535,
      9190,
    ),
    secret: text('By which gateways and pool managers know each other. Absent: made and shared through the store.', {
      minLength: 32,
      examples: ['${file:/run/secrets/link}'],
    }),
  },
  { default: {} },
);

const SEAL = group(
  'Keys that seal what clients carry for us. Absent: made and shared through the store.',
  {
    keys: list(
      'All of them open. Add a new one here everywhere before it seals; keep old ones longer than the longest deadline.',
      group(
        'One key.',
        {
          kid: text('Its name, told with each seal.', {
            pattern: '^[A-Za-z0-9_-]{1,32}$',
            errorMessage: 'use letters, digits, hyphens and underscores, 32 characters at most',
          }),
          key: text('The secret, 32 characters or more, for instance from `openssl rand -base64 32`.', {
            minLength: 32,
            examples: ['${file:/run/secrets/seal-1}'],
          }),
        },
        { required: ['kid', 'key'] },
      ),
      { minItems: 1, maxItems: 16 },
    ),
    sealWith: text('The `kid` of the key that seals. Default: the first.'),
  },
  { required: ['keys'] },
);

const LOG = group(
  'What is logged.',
  {
    level: choice('Lowest level that is written.', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      default: 'info',
    }),
  },
  { default: {} },
);

const CHILDREN = group(
  'How pool managers keep processes. A change needs a restart.',
  {
    cgroup: text(
      'Each process and all it starts in a cgroup (v2) of its own: ended as a whole whatever it does, and held to `pool.hardMemoryMb` and `stdio.limits.processes` by the kernel where it lends those controllers. `auto`: below the pool manager’s own cgroup where that may be written; `off`; or the directory of a cgroup that was delegated to it.',
      {
        default: 'auto',
        pattern: '^(auto|off|/.+)$',
        errorMessage: 'give auto, off, or the absolute path of a cgroup',
        examples: ['/sys/fs/cgroup/system.slice/lockkeeper.service'],
      },
    ),
  },
  { default: {} },
);

export const CONFIG_SCHEMA: SchemaNode = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Lockkeeper configuration',
  ...group(
    'One YAML file for all services. It is read again when it changes; a file with a fault is reported and the last good one stays in force. In any text, `${env:NAME}` stands for an environment variable and `${file:path}` for the content of a file (without its last line break); `$${` writes a plain `${`. What looks like a reference and is none is refused. Paths are relative to this file.',
    {
      listen: LISTEN,
      publicBaseUrl: PUBLIC_BASE_URL,
      state: STATE,
      auth: AUTH,
      tenants: list(
        'Who shares this gateway. Tenants never see each other.',
        group('One tenant.', { name: tenantName('Its name.'), credentials: CREDENTIALS }, { required: ['name'] }),
        { minItems: 1 },
      ),
      servers: list('The MCP servers behind the gateway.', SERVER),
      policy: POLICY,
      routes: list('The public endpoints.', ROUTE),
      limits: LIMITS,
      link: LINK,
      seal: SEAL,
      children: CHILDREN,
      log: LOG,
    },
    { required: ['auth', 'tenants', 'servers', 'routes'] },
  ),
};
