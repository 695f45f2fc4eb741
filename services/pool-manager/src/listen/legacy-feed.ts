// What one legacy process is subscribed to (protocol.md §5.2): list changes come by themselves where it declares them,
// each URI is subscribed to once and left when nobody wants it any more. The process' loss forgets everything.

import type { ServerCapabilities } from '@lockkeeper/protocol/mcp/capabilities';
import type { Side } from '../raise/side.ts';
import { declaredOf, type Feed, type FeedListener, NOTHING, type Wanted } from './contract.ts';

const ASK_MS = 10_000;
const NO_ANSWER = { kind: 'none' } as const;

export class LegacyFeed implements Feed {
  honoured: Wanted = NOTHING;
  silent = false;
  private readonly side: Side;
  private readonly capabilities: () => ServerCapabilities;
  private readonly subscribed = new Set<string>();
  private turn: Promise<unknown> = Promise.resolve();
  private over = false;

  constructor(side: Side, capabilities: () => ServerCapabilities, listener: FeedListener) {
    this.side = side;
    this.capabilities = capabilities;
    side.onChange((change) => {
      if (!this.over) listener.change(change);
    });
  }

  want(wanted: Wanted): Promise<Wanted> {
    const next = this.turn.then(() => this.apply(wanted));
    this.turn = next;
    return next;
  }

  end(): void {
    this.over = true;
  }

  private async apply(wanted: Wanted): Promise<Wanted> {
    const able = declaredOf(wanted, this.capabilities());
    const fresh = [...able.uris].filter((uri) => !this.subscribed.has(uri));
    const left = [...this.subscribed].filter((uri) => !able.uris.has(uri));
    this.silent = false;
    await Promise.all([...fresh.map((uri) => this.subscribe(uri)), ...left.map((uri) => this.unsubscribe(uri))]);
    this.honoured = { lists: able.lists, uris: new Set([...able.uris].filter((uri) => this.subscribed.has(uri))) };
    return this.honoured;
  }

  private async subscribe(uri: string): Promise<void> {
    const uriText = `"uri":${JSON.stringify(uri)}`;
    const answer = this.over ? NO_ANSWER : await this.side.ask('resources/subscribe', uriText, ASK_MS);
    if (answer.kind === 'result') this.subscribed.add(uri);
    if (answer.kind === 'none') this.silent = true;
  }

  private async unsubscribe(uri: string): Promise<void> {
    this.subscribed.delete(uri);
    if (!this.over) await this.side.ask('resources/unsubscribe', `"uri":${JSON.stringify(uri)}`, ASK_MS);
  }
}
