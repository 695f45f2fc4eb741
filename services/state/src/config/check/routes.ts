// Paths of routes: each once, and plain `/mcp` only where it can mean one thing (design §7).

import { type Check, itemsAt, textAt, textsAt } from '../draft.ts';
import { unique } from './names.ts';

export const checkRoutes: Check = (draft, report) => {
  const routes = itemsAt(draft.root, 'routes');
  const tenants = itemsAt(draft.root, 'tenants');
  unique(draft, routes, 'path', () => '', 'routes', report);
  for (const route of routes) {
    if (textAt(route, 'path') === '/mcp' && (routes.length > 1 || tenants.length > 1)) {
      const words = 'plain /mcp is possible only for the only route of the only tenant: give it a path like /acme/mcp';
      report([...route.path, 'path'], words);
    }
    const revisions = textsAt(route, 'revisions').map(({ text }) => text);
    const ssePath = [...route.path, 'sse'];
    if (route.value.sse === true && draft.written(ssePath) && !revisions.includes('2024-11-05')) {
      report(ssePath, 'sse is the transport of revision 2024-11-05: add that to revisions, or take sse out');
    }
  }
};
