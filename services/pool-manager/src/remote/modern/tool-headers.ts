// Which arguments of which tools are mirrored in headers (protocol.md §2.3, §4.3): learnt from every tool list that passes,
// shared by all sessions of one configured server, since all of them show it the same credentials.

import type { ServerSpec } from '@lockkeeper/protocol/config/settings';
import { findMember, itemsOf, type Member, membersOf, parseSpan, stringOf } from '@lockkeeper/protocol/json/scan';
import { type ParamHeader, paramHeaders } from '@lockkeeper/protocol/mcp/param-headers';
import { idOf } from '../../raise/verdicts.ts';
import type { ToolSchemas } from './request-headers.ts';

export interface KnownTools extends ToolSchemas {
  /** One page of a list. `first`: what was known before is forgotten. */
  learn(line: Uint8Array, result: readonly Member[], first: boolean): void;
}

export interface ToolHeaders {
  of(spec: ServerSpec): KnownTools;
}

const MAX_SERVERS = 1_000;
const MAX_TOOLS = 10_000;
const ANNOTATION = Buffer.from('x-mcp-header');
/** An escaped spelling of the keyword. */
const ESCAPE = Buffer.from('\\u');

export function createToolHeaders(): ToolHeaders {
  const servers = new Map<string, KnownTools>();
  return {
    of(spec) {
      const id = idOf(spec);
      const known = servers.get(id);
      if (known !== undefined) return known;
      if (servers.size >= MAX_SERVERS) for (const oldest of servers.keys()) if (servers.delete(oldest)) break;
      const fresh = createKnownTools();
      servers.set(id, fresh);
      return fresh;
    },
  };
}

function createKnownTools(): KnownTools {
  const tools = new Map<string, readonly ParamHeader[]>();
  return {
    headersOf: (tool) => tools.get(tool),
    learn(line, result, first) {
      if (first) tools.clear();
      const list = findMember(result, 'tools');
      if (list?.kind !== 'array' || !mentions(line.subarray(list.start, list.end))) return;
      for (const item of itemsOf(line, list)) {
        if (item.kind !== 'object' || tools.size >= MAX_TOOLS) continue;
        const members = membersOf(line, item);
        const name = stringOf(line, findMember(members, 'name'));
        const schema = findMember(members, 'inputSchema');
        if (name === undefined || schema === undefined) continue;
        const compiled = paramHeaders(parseSpan(line, schema));
        if (compiled.kind === 'ok' && compiled.headers.length > 0) tools.set(name, compiled.headers);
      }
    },
  };
}

/** Most lists hold no annotation, and their schemas are not looked at. */
function mentions(list: Uint8Array): boolean {
  const bytes = Buffer.from(list.buffer, list.byteOffset, list.length);
  return bytes.includes(ANNOTATION) || bytes.includes(ESCAPE);
}
