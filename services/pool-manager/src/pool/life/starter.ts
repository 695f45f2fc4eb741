// One start, from the decision to a connection or a failure. A start that outlives every budget is given up, and what it
// still brings is ended: nothing comes into the pool by the back door (GB-017, GB-020).

import type { Clock } from '@lockkeeper/state/clock';
import { type Connection, type Connector, type Log, StartError } from '../../raise/contract.ts';
import type { Pool } from '../pool.ts';
import type { PooledChild } from '../pooled-child.ts';

export interface StarterDeps {
  readonly connector: Pick<Connector, 'connect'>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface StartHandle {
  readonly done: Promise<void>;
  abandon(why: string): void;
}

export interface StartOutcome {
  ready(connection: Connection): void;
  failed(error: StartError): void;
  /** We did not want it any more. */
  abandoned(): void;
}

/** Probe, introduction and one change of mind, each with the server's own budget, and something for the machine. */
const BUDGETS = 3;
const MARGIN_MS = 30_000;

export function startChild(pool: Pool, child: PooledChild, deps: StarterDeps, outcome: StartOutcome): StartHandle {
  const { spec, capabilities } = pool.facts;
  const leaving = new AbortController();
  const budgetMs = BUDGETS * spec.startTimeoutMs + MARGIN_MS;
  const timer = deps.clock.setTimer(budgetMs, () =>
    leaving.abort(new StartError('its start never came to an end', '')),
  );
  const run = async () => {
    try {
      const connecting = deps.connector.connect(spec, capabilities, leaving.signal);
      const connection = await orAbandon(connecting, leaving.signal);
      if (leaving.signal.aborted) {
        await connection.stop('it came too late');
        throw leaving.signal.reason;
      }
      outcome.ready(connection);
    } catch (error) {
      if (error instanceof Abandoned) outcome.abandoned();
      else outcome.failed(asStartError(error, deps.log, child));
    } finally {
      timer.clear();
    }
  };
  return { done: run(), abandon: (why) => leaving.abort(new Abandoned(why)) };
}

class Abandoned extends Error {}

/** Settles with the signal even where the start does not listen to it; a late connection is ended. */
async function orAbandon(connecting: Promise<Connection>, signal: AbortSignal): Promise<Connection> {
  const left = Promise.withResolvers<never>();
  const onAbort = () => left.reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([connecting, left.promise]);
  } catch (error) {
    connecting.then(
      (late) => late.stop('it came too late'),
      () => {},
    );
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function asStartError(error: unknown, log: Log, child: PooledChild): StartError {
  if (error instanceof StartError) return error;
  log.warn({ server: child.spec.name, tenant: child.spec.tenant, err: error }, 'start failed unexpectedly');
  return new StartError('an internal fault; see the log', '');
}
