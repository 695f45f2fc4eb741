// What a person sees first: where it runs, how to connect the usual clients, where health is.

import type { Snapshot } from '@lockkeeper/protocol/config/settings';

export function banner(snapshot: Snapshot, url: string, admin: string): string {
  const base = snapshot.publicBaseUrl;
  const routes = snapshot.routes.map(({ path, servers }) => `  ${base}${path}   (${servers.join(', ')})`);
  const first = snapshot.routes[0];
  const token = snapshot.auth.mode === 'jwt';
  const header = token ? ` --header "Authorization: Bearer $TOKEN"` : '';
  const endpoint = first === undefined ? url : `${base}${first.path}`;
  const entry = { url: endpoint, ...(token ? { headers: { Authorization: 'Bearer <token>' } } : {}) };
  return [
    `Lockkeeper listens on ${url}`,
    '',
    'Routes:',
    ...routes,
    '',
    'Connect:',
    `  Claude Code   claude mcp add --transport http lockkeeper ${endpoint}${header}`,
    `  VS Code       .vscode/mcp.json   ${JSON.stringify({ servers: { lockkeeper: { type: 'http', ...entry } } })}`,
    `  Cursor        .cursor/mcp.json   ${JSON.stringify({ mcpServers: { lockkeeper: entry } })}`,
    `  Inspector     npx @modelcontextprotocol/inspector --transport http --server-url ${endpoint}${header}`,
    ...(first?.sse === true
      ? [`  Old clients   ${base}${first.path.replace(/\/mcp$/, '')}/sse   (HTTP+SSE, 2024-11-05)`]
      : []),
    ...(token
      ? ['', 'Tokens for trying out: npm run token -- --sub alice --groups dev --route PATH --config FILE']
      : []),
    '',
    `Health: ${admin}/readyz   Metrics: ${admin}/metrics`,
    'Stop with Ctrl-C.',
  ].join('\n');
}
