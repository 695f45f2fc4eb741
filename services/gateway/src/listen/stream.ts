// The wire of one modern listen (protocol.md §2.9): the acknowledgement first, then what was honoured, every message
// under the listen's own id with its JSON type, and at an orderly end the result. What comes faster than the client
// reads is one word per kind and URI; who never reads is let go (GB-066, GB-070).

import { bytesOf, concat } from '@lockkeeper/protocol/json/compose';
import type { Implementation } from '@lockkeeper/protocol/mcp/capabilities';
import { SERVER_INFO, SUBSCRIPTION_ID } from '@lockkeeper/protocol/mcp/meta';
import type { Clock, Timer } from '@lockkeeper/state/clock';
import type { SseStream } from '../http/contract.ts';
import { LIST_KINDS, type News, type Wanted } from './contract.ts';

export interface StreamDeps {
  readonly clock: Clock;
  /** 0 ≤ x < 1: listeners of one change do not all list again at once. */
  readonly random: () => number;
  readonly serverInfo: Implementation;
}

const SOON_MS = 10;
const SPREAD_MS = 90;
const AGAIN_MS = 500;
const MAX_BUFFERED = 64 * 1024;
const MAX_WAITING = 2_048;
/** So many rounds without the client taking anything. */
const MAX_STUCK = 60;

export class ListenStream {
  private readonly deps: StreamDeps;
  private readonly idText: string;
  private readonly slow: () => void;
  private readonly waiting = new Map<string, Uint8Array>();
  private sse: SseStream | null = null;
  private timer: Timer | null = null;
  private stuck = 0;
  private over = false;
  bytes = 0;

  constructor(idText: string, deps: StreamDeps, slow: () => void) {
    this.idText = idText;
    this.deps = deps;
    this.slow = slow;
  }

  /** From now on something may be sent; what came before is sent after this. */
  acknowledge(sse: SseStream, honoured: Wanted, taskIds: readonly string[]): void {
    if (this.over) return;
    this.sse = sse;
    const flags: Record<string, unknown> = {};
    for (const kind of LIST_KINDS) if (honoured.lists.has(kind)) flags[`${kind}ListChanged`] = true;
    if (honoured.uris.size > 0) flags.resourceSubscriptions = [...honoured.uris];
    if (taskIds.length > 0) flags.taskIds = taskIds;
    this.send(this.message('notifications/subscriptions/acknowledged', `"notifications":${JSON.stringify(flags)}`));
    if (this.waiting.size > 0) this.arm(SOON_MS);
  }

  news(news: News): void {
    if (news.kind === 'list') this.put(news.list, this.message(`notifications/${news.list}/list_changed`, ''));
    else {
      const uri = JSON.stringify(news.uri);
      this.put(`uri ${news.uri}`, this.message('notifications/resources/updated', `"uri":${uri}`));
    }
  }

  task(taskId: string, members: Uint8Array): void {
    this.put(`task ${taskId}`, this.message('notifications/tasks', members));
  }

  /** With the result, so that the client knows that it was meant (26/subs). */
  end(): void {
    if (this.over) return;
    this.drop();
    const identity = `"${SERVER_INFO}":${JSON.stringify(this.deps.serverInfo)}`;
    const meta = `"_meta":{${identity},"${SUBSCRIPTION_ID}":${this.idText}}`;
    this.send(bytesOf(`{"jsonrpc":"2.0","id":${this.idText},"result":{"resultType":"complete",${meta}}}`));
    this.sse?.end();
  }

  /** Nobody is there any more. */
  drop(): void {
    this.over = true;
    this.timer?.clear();
    this.waiting.clear();
  }

  private put(key: string, message: Uint8Array): void {
    if (this.over) return;
    this.waiting.set(key, message);
    if (this.waiting.size > MAX_WAITING) this.slow();
    else if (this.sse !== null) this.arm(SOON_MS + this.deps.random() * SPREAD_MS);
  }

  private arm(ms: number): void {
    this.timer ??= this.deps.clock.setTimer(ms, () => {
      this.timer = null;
      this.flush();
    });
  }

  private flush(): void {
    if (this.over || this.sse === null) return;
    if (this.sse.bufferedBytes > MAX_BUFFERED) {
      this.stuck++;
      if (this.stuck > MAX_STUCK) this.slow();
      else this.arm(AGAIN_MS);
      return;
    }
    this.stuck = 0;
    const messages = [...this.waiting.values()];
    this.waiting.clear();
    for (const message of messages) this.send(message);
  }

  private send(message: Uint8Array): void {
    this.bytes += message.length;
    this.sse?.send(message);
  }

  private message(method: string, members: string | Uint8Array): Uint8Array {
    const meta = `"_meta":{"${SUBSCRIPTION_ID}":${this.idText}}`;
    const comma = members.length === 0 ? '' : ',';
    return concat([`{"jsonrpc":"2.0","method":"${method}","params":{${meta}${comma}`, members, '}}']);
  }
}
