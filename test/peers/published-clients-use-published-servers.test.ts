// Can every published client use every published server, through both kinds of route? Tokens and policy are on, as in a
// real installation; names and URIs are checked as the client sees them.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createIssuer, type Issuer } from '../harness/issuer.ts';
import { type Lockkeeper, startStandalone } from '../harness/lockkeeper.ts';
import { createWireLog } from '../harness/wire-log.ts';
import { PEERS, type Peer, type PeerKind } from './peer.ts';
import { type PeerServer, peerServers } from './servers.ts';

interface RouteKind {
  readonly name: string;
  path(server: string): string;
  tool(server: string, name: string): string;
  uri(server: string, uri: string): string;
}

const ROUTES: readonly RouteKind[] = [
  {
    name: 'its own route',
    path: (server) => `/acme/${server}/mcp`,
    tool: (_server, name) => name,
    uri: (_server, uri) => uri,
  },
  {
    name: 'the aggregate',
    path: () => '/acme/mcp',
    tool: (server, name) => `${server}__${name}`,
    uri: (server, uri) => `${uri}#lk.${server}`,
  },
];

const servers = peerServers();
let issuer: Issuer;
let lockkeeper: Lockkeeper;

before(async () => {
  issuer = createIssuer();
  const allow = servers.list.map(({ wish }) => ({ server: wish.name, tools: ['*'], prompts: ['*'], resources: ['*'] }));
  lockkeeper = await startStandalone({
    servers: servers.list.map(({ wish }) => wish),
    auth: { mode: 'jwt', issuers: [{ issuer: issuer.issuer, jwksFile: issuer.jwksFile, tenants: ['acme'] }] },
    policy: [{ tenant: 'acme', groups: ['dev'], allow }],
  });
});

after(async () => {
  await lockkeeper?.stop();
  issuer?.close();
  servers.remove();
});

async function withPeer(kind: PeerKind, path: string, use: (peer: Peer) => Promise<void>): Promise<void> {
  const url = lockkeeper.route(path);
  const wire = createWireLog(kind.era);
  const peer = await kind.connect(url, { token: issuer.token({ audience: url }), fetch: wire.fetch });
  try {
    await use(peer);
  } finally {
    await peer.close();
  }
  await wire.idle();
  assert.ok(wire.seen > 2, 'nobody listened in');
  assert.deepEqual(wire.faults, []);
}

async function exercise(peer: Peer, server: PeerServer, route: RouteKind): Promise<void> {
  const { name } = server.wish;
  const { tools } = await peer.listTools();
  const names = tools.map((tool) => tool.name);
  for (const tool of server.tools) assert.ok(names.includes(route.tool(name, tool)), `${tool} in ${names.join(' ')}`);
  const called = await peer.callTool({ name: route.tool(name, server.call.name), arguments: server.call.arguments });
  assert.ok(!called.isError, JSON.stringify(called));
  assert.match(JSON.stringify(called.content), server.call.says);
  if (server.prompt) {
    const { prompts } = await peer.listPrompts();
    const prompt = route.tool(name, server.prompt.name);
    assert.ok(prompts.some((one) => one.name === prompt));
    const got = await peer.getPrompt({ name: prompt, arguments: server.prompt.arguments });
    assert.match(JSON.stringify(got.messages), server.prompt.says);
  }
  if (server.resource) {
    const { resources } = await peer.listResources();
    const uri = route.uri(name, server.resource.uri);
    assert.ok(
      resources.some((one) => one.uri === uri),
      `${uri} in ${resources.map((one) => one.uri).join(' ')}`,
    );
    const { contents } = (await peer.readResource({ uri })) as { contents: readonly { uri: string; text?: string }[] };
    assert.equal(contents[0]?.uri, uri);
    assert.match(contents[0]?.text ?? '', server.resource.says);
  }
}

for (const kind of PEERS) {
  describe(kind.name, () => {
    for (const route of ROUTES) {
      for (const server of servers.list) {
        it(`uses ${server.wish.name} through ${route.name}`, async () => {
          await withPeer(kind, route.path(server.wish.name), (peer) => exercise(peer, server, route));
        });
      }
    }
  });
}
