// Reads the `mcpServers` JSON of desktop clients (and the `servers` of VS Code, which is like it). What is not ours to
// run, or not known, becomes a note in words; nothing is silently dropped.

import { NOT_YOURS, urlFault } from '../config/remote-url.ts';
import { type Place, placeOf } from './remote-place.ts';

export interface DesktopCommand {
  readonly kind: 'command';
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface DesktopRemote {
  readonly kind: 'remote';
  readonly name: string;
  readonly url: string;
  readonly place: Place;
  /** It said that it is HTTP+SSE. */
  readonly sse: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

export type DesktopServer = DesktopCommand | DesktopRemote;

export interface DesktopFile {
  readonly servers: readonly DesktopServer[];
  readonly notes: readonly string[];
}

const KIND = ['type', 'transport', 'disabled'];
const COMMAND = new Set([...KIND, 'command', 'args', 'env', 'cwd']);
const REMOTE = new Set([...KIND, 'url', 'serverUrl', 'httpUrl', 'headers']);
const STDIO = new Set([undefined, 'stdio']);

/** Throws an Error whose message is for the operator when the text is no such file. */
export function readDesktopFile(text: string): DesktopFile {
  const notes: string[] = [];
  const entries = Object.entries(entriesOf(parse(text)));
  const servers = entries.flatMap(([name, entry]) => readServer(name, entry, notes) ?? []);
  return { servers, notes };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new Error('the file is not JSON (comments and trailing commas are not JSON: take them out)');
  }
}

function entriesOf(data: unknown): Record<string, unknown> {
  const map = isMap(data) ? (data.mcpServers ?? data.servers) : undefined;
  if (!isMap(map))
    throw new Error('the file has no "mcpServers": it must look like {"mcpServers":{"name":{"command":"…"}}}');
  return map;
}

function readServer(name: string, entry: unknown, notes: string[]): DesktopServer | null {
  const skip = (why: string): null => {
    notes.push(`${name}: left out, ${why}`);
    return null;
  };
  if (!isMap(entry)) return skip('its entry is not a map');
  if (entry.disabled === true) return skip('it is disabled there');
  const url = entry.url ?? entry.serverUrl ?? entry.httpUrl;
  if (url !== undefined || !STDIO.has(kindOf(entry))) return readRemote(name, url, entry, notes, skip);
  return readCommand(name, entry, notes, skip);
}

type Skip = (why: string) => null;

function readRemote(
  name: string,
  url: unknown,
  entry: Record<string, unknown>,
  notes: string[],
  skip: Skip,
): DesktopRemote | null {
  if (typeof url !== 'string' || !URL.canParse(url)) return skip('it is a remote server without a usable URL');
  const fault = /\$\{/.test(url) ? 'its URL holds a reference: write it out' : urlFault(url, JSON.stringify(url));
  if (fault !== null) return skip(fault.replace('http.url', 'its URL'));
  const place = placeOf(url);
  if (place === null) return skip('its URL is http:// to a name: add it by hand, with http.plain and http.cidrs');
  const { headers = {} } = entry;
  if (!isMap(headers) || !Object.values(headers).every(isPlain)) return skip('its headers are not a map of texts');
  noteIgnored(name, entry, REMOTE, notes);
  const own = Object.entries(headers).filter(([key]) => !NOT_YOURS.test(key));
  const left = Object.keys(headers).filter((key) => NOT_YOURS.test(key));
  if (left.length > 0) notes.push(`${name}: not taken over: headers ${left.join(', ')}`);
  const texts = Object.fromEntries(own.map(([key, value]) => [key, String(value)]));
  return { kind: 'remote', name, url, place, sse: kindOf(entry) === 'sse', headers: texts };
}

function readCommand(name: string, entry: Record<string, unknown>, notes: string[], skip: Skip): DesktopCommand | null {
  if (typeof entry.command !== 'string' || entry.command === '') return skip('it has no command');
  const { args = [], env = {}, cwd } = entry;
  if (!Array.isArray(args) || !args.every(isPlain)) return skip('its args are not a list of texts');
  if (!isMap(env) || !Object.values(env).every(isPlain)) return skip('its env is not a map of texts');
  noteIgnored(name, entry, COMMAND, notes);
  return {
    kind: 'command',
    name,
    command: entry.command,
    args: args.map(String),
    env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, String(value)])),
    ...(typeof cwd === 'string' && cwd !== '' ? { cwd } : {}),
  };
}

function kindOf(entry: Record<string, unknown>): string | undefined {
  const kind = entry.type ?? entry.transport;
  return kind === undefined ? undefined : String(kind);
}

function noteIgnored(name: string, entry: Record<string, unknown>, known: ReadonlySet<string>, notes: string[]): void {
  const ignored = Object.keys(entry).filter((key) => !known.has(key));
  if (ignored.length > 0) notes.push(`${name}: not taken over: ${ignored.join(', ')}`);
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
