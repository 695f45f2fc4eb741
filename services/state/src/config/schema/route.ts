// The public endpoints. A route is one server unchanged, or several under one roof (design §7).

import { serverName, tenantName } from './names.ts';
import { choice, count, flag, group, list, text } from './node.ts';

export const ROUTE = group(
  'One public endpoint.',
  {
    path: text(
      'Its path, which ends in `/mcp`. Plain `/mcp` is possible when it is the only route of the only tenant.',
      {
        pattern: '^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/mcp$',
        errorMessage: 'a path looks like /acme/mcp: it begins with a slash, ends in /mcp and no part begins with a dot',
        examples: ['/acme/everything/mcp'],
      },
    ),
    tenant: tenantName('The tenant it belongs to.'),
    server: serverName('The one server it shows; names and URIs stay as they are.'),
    servers: list(
      'The servers it shows together. Tools and prompts are called `<server>__<name>`, even where it is one server.',
      serverName('A server of this tenant.'),
      { minItems: 1, uniqueItems: true },
    ),
    revisions: list(
      'Legacy revisions that are served here; the modern one always is.',
      choice('A revision.', ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']),
      { uniqueItems: true, default: ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] },
    ),
    tasks: flag('The tasks extension: long calls go on as tasks for clients that take them.', true),
    legacyTasks: flag('Tasks as 2025-11-25 has them, for clients of that revision.', false),
    promoteAfterMs: count('Instead of `limits.promoteAfterMs`, for calls through this route.', 0, 24 * 3_600_000),
    sse: flag('The HTTP+SSE endpoints of 2024-11-05: `…/sse` and `…/messages` beside `…/mcp`.', true),
    closeStreamsAfterMs: count(
      'Streams of calls end after this time and their clients come back for the rest (2025-11-25 only). 0: they stay open.',
      0,
      3_600_000,
      0,
    ),
  },
  {
    required: ['path', 'tenant'],
    oneOf: [{ required: ['server'] }, { required: ['servers'] }],
    errorMessage: 'give either server (one, unchanged) or servers (several, with prefixed names)',
  },
);
