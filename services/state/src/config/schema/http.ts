// A remote server and how it is reached (auth-security NET-1, NET-3).

import { choice, count, flag, group, list, type SchemaNode, text } from './node.ts';

const MAX_HEADER_CHARS = 16_384;

function headers(description: string): SchemaNode {
  return {
    description,
    type: 'object',
    additionalProperties: { description: 'The value.', type: 'string', maxLength: MAX_HEADER_CHARS },
  };
}

export const HTTP = group(
  'Where it is, for a remote server. It is reached over HTTP; nothing of the caller’s own headers goes there.',
  {
    url: text('Its MCP endpoint. No user, password, key or fragment in it: URLs are logged.', {
      examples: ['https://mcp.example.com/mcp'],
    }),
    transport: choice(
      'Which transport it speaks. `auto`: found out; `streamable`: Streamable HTTP; `sse`: HTTP+SSE of 2024-11-05.',
      ['auto', 'streamable', 'sse'],
      { default: 'auto' },
    ),
    headers: {
      ...headers('Headers sent with every request. For secrets use `${env:NAME}` or `${file:path}`.'),
      default: {},
    },
    credential: text(
      'Name of one of the tenant’s `credentials`; its headers are sent too. No other server gets them.',
      {
        maxLength: 64,
      },
    ),
    plain: flag('It speaks `http://`, without TLS. Only inside `cidrs`.', false),
    cidrs: list(
      'Address ranges in which its host must lie, for a server inside your network. Empty: public addresses only.',
      { description: 'A range as address/bits, for instance `10.20.0.0/16`.', type: 'string', maxLength: 64 },
      { default: [], maxItems: 64 },
    ),
    ca: text('Certificates (PEM) by which it is known, instead of the usual authorities.', {
      maxLength: 262_144,
      examples: ['${file:/etc/lockkeeper/upstream-ca.pem}'],
    }),
    maxConnections: count('Connections to it at once, from one node.', 1, 10_000, 128),
    maxSessions: count(
      'Sessions with it on one node, of all callers: they count here, not under `limits.maxPerServer`.',
      1,
      100_000,
      1024,
    ),
    connectMs: count('A connection, with its name and TLS, must stand within this time.', 100, 120_000, 5000),
    headersMs: count(
      'An answer must begin within this time after its message was sent; calls have `callTimeoutMs` instead.',
      100,
      3_600_000,
      60_000,
    ),
    idleStreamMs: count(
      'A stream of its own must begin within this time; many servers send nothing before their first event.',
      1000,
      3_600_000,
      300_000,
    ),
    maxHeaderBytes: count('Headers of an answer may be so long in all.', 1024, 262_144, 32_768),
  },
  { required: ['url'] },
);

export const CREDENTIALS: SchemaNode = {
  description: 'Named headers for remote servers of this tenant that name them in `http.credential`.',
  type: 'object',
  propertyNames: { pattern: '^[A-Za-z_][A-Za-z0-9_]*$' },
  additionalProperties: headers('The headers of one credential. For secrets use `${env:NAME}` or `${file:path}`.'),
};
