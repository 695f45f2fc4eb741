// `npm run pool -- list`, `npm run pool -- restart|drain|evict ID` or `… --server tenant/name`: the processes of one node,
// over its admin port. Where that is and what it wants to see comes from the configuration; a token is never an argument.

import { parseArgs } from 'node:util';
import type { Snapshot } from '@lockkeeper/protocol/config/settings';
import { loadPart } from '../config/load.ts';
import type { Reads } from '../config/references.ts';
import { ORDERS, type Order, type Whom } from '../operator/contract.ts';
import { processTable } from '../operator/table.ts';

const USAGE = `usage: npm run pool -- list [--json]
       npm run pool -- restart|drain|evict ID
       npm run pool -- restart|drain|evict --server TENANT/NAME
with   --config FILE   the node's configuration (default: LOCKKEEPER_CONFIG), for its admin port and listen.adminToken
       --admin URL     another admin port, for instance http://10.0.0.7:9190; LOCKKEEPER_ADMIN_TOKEN is shown there`;
const WAIT_MS = 10_000;

interface Where {
  readonly url: string;
  readonly token: string | undefined;
}

async function run(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: {
      server: { type: 'string' },
      config: { type: 'string', ...defaultOf(process.env.LOCKKEEPER_CONFIG) },
      admin: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
    allowPositionals: true,
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const [what, id, ...more] = positionals;
  if (more.length > 0) throw new Error(USAGE);
  const where = whereOf(values.config, values.admin, what !== 'list');
  if (what === 'list' && id === undefined && values.server === undefined) return list(where, values.json);
  if (!ORDERS.some((order) => order === what)) throw new Error(USAGE);
  await order(where, what as Order, whomOf(id, values.server));
}

/** What `parseArgs` says alone leaves open what could be typed. */
function isMistyped(error: unknown): boolean {
  return String((error as { code?: unknown } | null)?.code).startsWith('ERR_PARSE_ARGS');
}

function defaultOf(value: string | undefined): { default: string } | object {
  return value === undefined ? {} : { default: value };
}

/** `orders`: the node wants to see its token. Looking needs none. */
function whereOf(file: string | undefined, admin: string | undefined, orders: boolean): Where {
  const given = process.env.LOCKKEEPER_ADMIN_TOKEN;
  const wants = orders && given === undefined;
  const snapshot = file === undefined ? null : loadPart(file, process.env, readsOf(admin === undefined, wants));
  const url = admin ?? (snapshot === null ? undefined : adminUrl(snapshot));
  if (url === undefined) throw new Error(`give --config FILE or --admin URL\n${USAGE}`);
  const token = given ?? (wants ? snapshot?.listen.adminToken : undefined);
  return { url: url.replace(/\/$/, ''), token };
}

/** Whoever asks a node need not have the secrets of its servers, nor those of the store behind it. */
function readsOf(place: boolean, token: boolean): Reads {
  return ([section, key], text) => {
    if (section === 'listen' && key === 'adminToken') return token;
    if (section === 'state') return place && !/^rediss?:/.test(text);
    return place && (section === 'listen' || section === 'link') && key !== 'secret';
  };
}

/** In one process both services have one admin port; with shared state a node has its own. */
function adminUrl({ state, listen, link }: Snapshot): string {
  const port = state.kind === 'memory' ? listen.adminPort : link.adminPort;
  if (port === 0) throw new Error('the configuration leaves the admin port to the system: give it by --admin URL');
  const host = listen.adminHost === '0.0.0.0' || listen.adminHost === '::' ? '127.0.0.1' : listen.adminHost;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function whomOf(id: string | undefined, server: string | undefined): Whom {
  if ((id === undefined) === (server === undefined)) throw new Error(USAGE);
  if (id !== undefined) return { id };
  const [tenant, name, ...rest] = server!.split('/');
  if (!tenant || !name || rest.length > 0) throw new Error('--server: give tenant/name');
  return { tenant, server: name };
}

async function list(where: Where, json: boolean): Promise<void> {
  const found = await ask(where, 'GET', '/pools');
  if (json) {
    console.log(JSON.stringify(found, null, 2));
    return;
  }
  const { processes = [], mishaps = [] } = found as { processes?: []; mishaps?: readonly Record<string, unknown>[] };
  console.log(processTable(processes));
  for (const { at, tenant, server, words } of mishaps.slice(-5)) {
    console.log(`${new Date(Number(at)).toISOString()}  ${String(tenant)}/${String(server)}: ${String(words)}`);
  }
}

async function order(where: Where, what: Order, whom: Whom): Promise<void> {
  if (where.token === undefined) throw new Error('the node wants listen.adminToken: set it, or LOCKKEEPER_ADMIN_TOKEN');
  const { processes } = (await ask(where, 'POST', `/pools/${what}`, whom)) as { processes: readonly string[] };
  console.log(`${what}: ${processes.join(' ')}`);
}

async function ask({ url, token }: Where, method: string, path: string, body?: object): Promise<unknown> {
  const init = {
    method,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(WAIT_MS),
  };
  let answer: Response;
  try {
    answer = await fetch(`${url}${path}`, init);
  } catch {
    throw new Error(`${url} does not answer: is the node running, and is that its admin port?`);
  }
  const said = (await answer.json().catch(() => null)) as { error?: string; message?: string } | null;
  if (answer.status === 404 && method === 'GET')
    throw new Error(`${url} is no pool manager: take the admin port of one`);
  if (!answer.ok) throw new Error(`${url}: ${said?.error ?? said?.message ?? `status ${answer.status}`}`);
  return said;
}

try {
  await run();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  if (isMistyped(error)) console.error(USAGE);
  process.exitCode = 1;
}
