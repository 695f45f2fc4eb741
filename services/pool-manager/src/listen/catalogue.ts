// What a server's lists were, as hashes (design §5 "Obligations"): so that a change made while nobody could be told, or
// between two processes, is still told, and an unchanged list never is (GB-068). Items count, not their order.

import { createHash } from 'node:crypto';
import { findMember, itemsOf, membersOf, parseSpan, textOf } from '@lockkeeper/protocol/json/scan';
import type { Side } from '../raise/side.ts';
import type { ListKind } from './contract.ts';

const LISTS: Readonly<Record<ListKind, readonly (readonly [method: string, items: string])[]>> = {
  tools: [['tools/list', 'tools']],
  prompts: [['prompts/list', 'prompts']],
  resources: [
    ['resources/list', 'resources'],
    ['resources/templates/list', 'resourceTemplates'],
  ],
};

const ASK_MS = 10_000;
const MAX_PAGES = 100;

/** Null: it could not be read now. */
export async function hashOf(side: Side, kind: ListKind): Promise<string | null> {
  const items: string[] = [];
  for (const [method, member] of LISTS[kind]) {
    if (!(await collect(side, method, member, items))) return null;
  }
  const hash = createHash('sha256');
  for (const item of items.sort()) hash.update(item).update('\n');
  return hash.digest('base64url');
}

async function collect(side: Side, method: string, member: string, items: string[]): Promise<boolean> {
  let cursor: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await side.ask(method, cursor === null ? '' : `"cursor":${JSON.stringify(cursor)}`, ASK_MS);
    // A server that has resources need not have templates.
    if (answer.kind === 'error') return page === 0;
    if (answer.kind === 'none') return false;
    const found = membersOf(answer.bytes, { start: 0, end: answer.bytes.length });
    const list = findMember(found, member);
    if (list?.kind !== 'array') return false;
    for (const item of itemsOf(answer.bytes, list)) items.push(textOf(answer.bytes, item));
    const next = findMember(found, 'nextCursor');
    const said = next?.kind === 'string' ? (parseSpan(answer.bytes, next) as string) : null;
    if (said === null || said === cursor) return true;
    cursor = said;
  }
  return true;
}

/** The hashes of one owner's lists, by what the process was initialised with. */
export class KnownLists {
  private readonly hashes = new Map<string, string>();
  private readonly flights = new Map<string, Promise<boolean>>();

  /** Whether the list differs from the one known before; that one is forgotten. One look at a time. */
  changed(side: Side, fingerprint: string, kind: ListKind): Promise<boolean> {
    const key = `${kind}\n${fingerprint}`;
    const flight = (this.flights.get(key) ?? Promise.resolve(false)).then(() => this.look(side, key, kind));
    const safe = flight.catch(() => false); // a list nested too deeply to look at: as if it could not be read
    const done = safe.finally(() => {
      if (this.flights.get(key) === done) this.flights.delete(key);
    });
    this.flights.set(key, done);
    return done;
  }

  private async look(side: Side, key: string, kind: ListKind): Promise<boolean> {
    const hash = await hashOf(side, kind);
    if (hash === null) return false;
    const known = this.hashes.get(key);
    this.hashes.set(key, hash);
    return known !== undefined && known !== hash;
  }
}
