// What is known of one upstream after the probe. Shared between nodes and gateways through the store, so it holds
// no user data; the catalogue (lists) is kept apart because it may be private (protocol.md §4.2 "Share").

import type { Implementation, ServerCapabilities } from './capabilities.ts';
import type { Era } from './revision.ts';

export interface Profile {
  readonly era: Era;
  /** Revision spoken with it. */
  readonly revision: string;
  /** Of a legacy server by URL. */
  readonly transport?: 'streamable' | 'sse';
  /** Every revision it names, newest first (modern: `supportedVersions`). */
  readonly supported: readonly string[];
  readonly capabilities: ServerCapabilities;
  readonly serverInfo?: Implementation;
  readonly instructions?: string;
  /** Unix ms; legacy verdicts are re-probed (protocol.md §4.2 "Cache"). */
  readonly foundAt: number;
  /** What the verdict rests on, for the operator: "server/discover answered", "-32022 with a list", "timeout", … */
  readonly evidence: string;
}
