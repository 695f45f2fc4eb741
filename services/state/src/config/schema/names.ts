// How tenants and servers may be called: names end up in Redis keys, URIs, tool names and metrics.

import { type SchemaNode, text } from './node.ts';

export function tenantName(description: string): SchemaNode {
  return text(description, {
    pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
    errorMessage: 'use lower-case letters, digits and inner hyphens, 63 characters at most',
  });
}

export function serverName(description: string): SchemaNode {
  return text(description, {
    pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$',
    errorMessage: 'use letters, digits, hyphens and underscores, 40 characters at most, the first a letter or digit',
  });
}
