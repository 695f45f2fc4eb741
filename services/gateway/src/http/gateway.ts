// Puts the rim together: server, authenticator, modern leg, records. `app.ts` gives what lies behind it (the answer,
// the legacy leg) and what lies around it (configuration, clock, log, metrics).

import { randomUUID } from 'node:crypto';
import type { ConfigSource } from '@lockkeeper/protocol/config/settings';
import type { Implementation } from '@lockkeeper/protocol/mcp/capabilities';
import type { Clock } from '@lockkeeper/state/clock';
import { createAuthenticator } from '../auth/authenticate.ts';
import type { AnswerFn } from '../exchange.ts';
import type { Forgetting } from '../forget.ts';
import type { ModernListens } from '../listen/modern.ts';
import { createModernLeg } from '../lower/modern.ts';
import type { AuditRow } from '../observe/audit.ts';
import type { Log } from '../observe/logger.ts';
import type { Metrics } from '../observe/metrics.ts';
import { createRecorder, type Recorder } from '../observe/recorder.ts';
import { createTracing } from '../observe/trace.ts';
import type { LegacyLeg } from './contract.ts';
import { createIntake } from './intake.ts';
import { createHttpServer, type HttpServer } from './server.ts';
import { createWheel } from './wheel.ts';

export interface GatewayHttpDeps {
  readonly config: ConfigSource;
  readonly answer: AnswerFn;
  /** The legacy leg is made with the recorder that both legs share. */
  readonly legacy: (recorder: Recorder) => LegacyLeg;
  readonly listens?: (recorder: Recorder) => ModernListens;
  readonly serverInfo: Implementation;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly writeAudit: (row: AuditRow) => void;
  readonly forgetting: Pick<Forgetting, 'add'>;
}

/** A drain does not send all listeners elsewhere at once (protocol.md §2.9 "Drain on deploy"). */
const MAX_SPREAD_MS = 2_000;

export function createGatewayHttp(deps: GatewayHttpDeps): HttpServer {
  const { config, answer, serverInfo, clock, log, metrics, writeAudit } = deps;
  const elapsed = () => performance.now();
  const recorder = createRecorder({ metrics, tracing: createTracing(), writeAudit, elapsed });
  const listens = deps.listens?.(recorder);
  const modern = createModernLeg({ answer, serverInfo, recorder, clock, log, listens });
  const legacy = deps.legacy(recorder);
  const authenticator = createAuthenticator({ now: clock.now, log, metrics });
  deps.forgetting.add(authenticator.forget);
  return createHttpServer({
    config,
    authenticator,
    modern,
    legacy,
    recorder,
    metrics,
    wheel: createWheel(every),
    intake: createIntake(clock.setTimer),
    newId: randomUUID,
    elapsed,
    log,
    drain: (drainMs) => {
      listens?.drain(Math.min(MAX_SPREAD_MS, drainMs / 2));
      return legacy.close(drainMs);
    },
    abort: () => {
      listens?.close();
      modern.abort();
    },
    setTimer: clock.setTimer,
  });
}

function every(ms: number, run: () => void): { clear(): void } {
  const interval = setInterval(run, ms);
  return { clear: () => clearInterval(interval) };
}
