// The plain part of every server in this folder: lines in, lines out, and a correct echo server of either era. A
// habit is what a file does differently, through `before` (sees each message first; true = dealt with) and `call`.
// Dependency-free and run by plain `node`. Not a model of a good server: it believes what it reads.
//
// ERA=legacy|modern|dual overrides the era a file is written in, NAME the server's name.

const META = 'io.modelcontextprotocol/';
const MODERN = '2026-07-28';
const REVISIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

export const ECHO = {
  name: 'echo',
  description: 'Gives its text back',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
};

export const send = (value) => write(JSON.stringify({ jsonrpc: '2.0', ...value }));
export const write = (line) => process.stdout.write(`${line}\n`);
export const notify = (method, params) => send({ method, params });
export const text = (value) => ({ content: [{ type: 'text', text: String(value) }] });
export const isModern = (message) => message.params?._meta?.[`${META}protocolVersion`] !== undefined;

/** A tool without arguments. */
export const tool = (name, properties = {}) => ({ name, inputSchema: { type: 'object', properties } });

/** Answers as the message's era wants it: a modern result says it is complete and who made it. */
export function reply(message, result, extra = {}) {
  const serverInfo = { name: process.env.NAME ?? 'fixture', version: '1.0.0' };
  const modern = { resultType: 'complete', _meta: { [`${META}serverInfo`]: serverInfo } };
  send({ id: message.id, result: isModern(message) ? { ...modern, ...result, ...extra } : result });
}

export const fail = (message, code, words, data) => send({ id: message.id, error: { code, message: words, data } });

/** Reads stdin line by line; ends with the client's end unless told to stay. */
export function lines(onMessage, onEnd = () => process.exit(0)) {
  let rest = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop();
    for (const part of parts) if (part.trim() !== '') onMessage(JSON.parse(part));
  });
  process.stdin.on('end', onEnd);
}

/**
 * options: era, tools, capabilities, revisions, before(message, handle), call(name, args, message) → result, a promise
 * of one, or undefined (no answer), methods {method: (params, message) → result}, onEnd.
 */
export function serve(options = {}) {
  const era = process.env.ERA ?? options.era ?? 'legacy';
  const handle = (message) => {
    if (message.method === undefined || message.id === undefined) return;
    if (isModern(message) || era === 'modern') return era === 'legacy' ? legacy(message) : modern(message);
    return legacy(message);
  };
  const tools = options.tools ?? [ECHO];
  const capabilities = { tools: {}, ...options.capabilities };

  function legacy(message) {
    if (message.method === 'initialize') {
      const asked = message.params?.protocolVersion;
      const revisions = options.revisions ?? REVISIONS;
      const protocolVersion = revisions.includes(asked) ? asked : revisions[0];
      const serverInfo = { name: process.env.NAME ?? 'fixture', version: '1.0.0' };
      const { instructions } = options;
      return send({ id: message.id, result: { protocolVersion, capabilities, serverInfo, instructions } });
    }
    if (message.method === 'ping') return send({ id: message.id, result: {} });
    return both(message);
  }

  function modern(message) {
    const meta = message.params?._meta;
    const requested = meta?.[`${META}protocolVersion`];
    if (requested !== undefined && requested !== MODERN) {
      return fail(message, -32022, 'Unsupported protocol version', { supported: [MODERN], requested });
    }
    if (message.method === 'initialize') return fail(message, -32601, `Method not found; this server speaks ${MODERN}`);
    if (requested === undefined || meta[`${META}clientCapabilities`] === undefined) {
      return fail(message, -32602, 'The reserved _meta fields are missing');
    }
    if (message.method !== 'server/discover') return both(message);
    const supportedVersions = era === 'dual' ? [MODERN, ...REVISIONS] : [MODERN];
    const { instructions } = options;
    return reply(message, { supportedVersions, capabilities, instructions, ttlMs: 0, cacheScope: 'public' });
  }

  async function both(message) {
    const { method, params } = message;
    if (options.methods?.[method] !== undefined) return reply(message, options.methods[method](params, message));
    const hints = isModern(message) ? { ttlMs: 0, cacheScope: 'private' } : {};
    if (method === 'tools/list') return reply(message, { tools, ...hints });
    if (method !== 'tools/call') return fail(message, -32601, `Method not found: ${method}`);
    const known = tools.some((t) => t.name === params.name);
    if (!known) return fail(message, -32602, `Unknown tool: ${params.name}`);
    const result = await (options.call ?? echo)(params.name, params.arguments ?? {}, message);
    if (result !== undefined) reply(message, result);
  }

  lines((message) => {
    if (options.before?.(message, handle) !== true) handle(message);
  }, options.onEnd);
}

export const echo = (_name, args) => text(args.text);
