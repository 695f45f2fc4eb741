// What the suite's `client` command runs as the client under test: Lockkeeper with the suite's mock server as its only
// upstream, and a published SDK client that calls through it and has no say in what goes to the mock. CLIENT_ERA chooses
// that client; the suite names the scenario and hands over its URL. DIRECT=1 leaves Lockkeeper out, to try a drive.

import assert from 'node:assert/strict';
import { connectV1 } from '../harness/client-legacy.ts';
import { connectV2 } from '../harness/client-modern.ts';
import { startStandalone } from '../harness/lockkeeper.ts';
import type { Peer } from '../peers/peer.ts';
import { answering, type Json, type Questions } from './client-answers.ts';

type Drive = (peer: Peer, questions: Questions) => Promise<void>;

/** As `test_headers` has no arguments and others want numbers: what all of them take. */
const ARGUMENTS = { a: 2, b: 3 };

const callAll: Drive = async (peer) => {
  const { tools } = await peer.listTools();
  for (const { name } of tools) await peer.callTool({ name, arguments: ARGUMENTS });
};

/** The mocks of these declare nothing: there is no list to be had, and none is asked for. */
const introduced: Drive = async (peer) => {
  if (declared(peer).tools !== undefined) await callAll(peer, { unrelated: null, asked: [] });
};

const declared = (peer: Peer) => (peer as unknown as { getServerCapabilities(): Json }).getServerCapabilities();

const says = (result: Json, words: RegExp) => assert.match(JSON.stringify(result.content), words);

const headers: Drive = async (peer) => {
  await callAll(peer, { unrelated: null, asked: [] });
  const { resources } = await peer.listResources();
  for (const { uri } of resources) await peer.readResource({ uri });
  const { prompts } = await peer.listPrompts();
  for (const { name } of prompts) await peer.getPrompt({ name, arguments: {} });
  assert.ok(resources.length > 0 && prompts.length > 0);
};

const params: Drive = async (peer) => {
  const { toolCalls } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as {
    toolCalls: readonly { name: string; arguments: Json }[];
  };
  await peer.listTools();
  for (const call of toolCalls) await peer.callTool(call);
};

/** The unrelated call goes out while the question of the first one waits. */
const rounds: Drive = async (peer, questions) => {
  questions.unrelated = () => peer.callTool({ name: 'test_mrtr_unrelated', arguments: {} });
  says(await peer.callTool({ name: 'test_mrtr_echo_state', arguments: {} }), /echo-state-ok/);
  questions.unrelated = null;
  says(await peer.callTool({ name: 'test_mrtr_no_state', arguments: {} }), /no-state-ok/);
  says(await peer.callTool({ name: 'test_mrtr_no_result_type', arguments: {} }), /no-result-type-test-ok/);
};

const defaults: Drive = async (peer, { asked }) => {
  says(await peer.callTool({ name: 'test_client_elicitation_defaults', arguments: {} }), /Elicitation completed/);
  const { properties } = asked[0]!.requestedSchema as { properties: Json };
  const kept = Object.values(properties as Record<string, { default: unknown }>).map((one) => one.default);
  assert.deepEqual(kept, ['John Doe', 30, 95.5, 'active', true]);
};

const schemas: Drive = async (peer) => {
  const { tools } = (await peer.listTools()) as { tools: readonly { name: string; inputSchema: Json }[] };
  const schema = tools.find(({ name }) => name === 'json_schema_2020_12_tool')?.inputSchema;
  await peer.callTool({ name: 'json_schema_echo', arguments: { schema } });
};

const DRIVES: Readonly<Record<string, Drive>> = {
  initialize: introduced,
  tools_call: callAll,
  'elicitation-sep1034-client-defaults': defaults,
  'sse-retry': async (peer) =>
    says(await peer.callTool({ name: 'test_reconnection', arguments: {} }), /completed successfully/),
  'request-metadata': introduced,
  'http-standard-headers': headers,
  'http-custom-headers': params,
  'http-invalid-tool-headers': callAll,
  'sep-2322-client-request-state': rounds,
  'json-schema-ref-no-deref': async (peer) => void (await peer.listTools()),
  'json-schema-2020-12-preservation': schemas,
};

async function connect(url: string, questions: Questions): Promise<Peer> {
  const options = { capabilities: { elicitation: { form: {} } } };
  if (process.env.CLIENT_ERA === 'legacy') {
    const client = await connectV1(url, 'streamable', options);
    answering(client, questions);
    return client as unknown as Peer;
  }
  const client = await connectV2(url, 'pinned', options);
  answering(client, questions);
  return client as unknown as Peer;
}

async function callThrough(act: Drive, url: string): Promise<void> {
  const questions: Questions = { unrelated: null, asked: [] };
  const peer = await connect(url, questions);
  await act(peer, questions);
  await peer.close();
}

async function drive(scenario: string, mock: string): Promise<void> {
  const act = DRIVES[scenario];
  if (!act) throw new Error(`no drive for ${scenario}`);
  if (process.env.DIRECT === '1') return callThrough(act, mock);
  const lockkeeper = await startStandalone({ servers: [{ name: 'mock', http: { url: mock } }] });
  try {
    await callThrough(act, lockkeeper.route('/acme/mock/mcp'));
  } catch (error) {
    console.error(lockkeeper.process.logs());
    throw error;
  } finally {
    await lockkeeper.stop();
  }
}

await drive(process.env.MCP_CONFORMANCE_SCENARIO ?? '', process.argv[2] ?? '');
