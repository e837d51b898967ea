/**
 * The composition root's part about the store over months: what it forgets, where its audit log ended, and whether its
 * file is still there and whole.
 */
import type { Engine } from './engine/engine.ts';
import type { AuditLog } from './ledger/audit-log.ts';
import { errorMessage } from './platform/error-message.ts';
import type { EventBus } from './platform/events.ts';
import type { Logger } from './platform/logger.ts';
import type { VerifiedClock } from './platform/verified-clock.ts';
import type { Scheduler } from './scheduler/scheduler.ts';
import type { SqliteLedger } from './storage/sqlite-ledger.ts';
import type { Store } from './storage/sqlite.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Between two batches: others write to the store as well. */
const NEXT_BATCH_MS = 5_000;
/** Between two looks at a clock that no answer of the service confirms. */
const UNVERIFIED_MS = 60_000;
const WATCH_EVERY_MS = 10_000;

export interface UpkeepDeps {
  readonly scheduler: Pick<Scheduler, 'add'>;
  readonly store: Pick<Store, 'problem'>;
  readonly conditions: Pick<Engine['others'], 'stands' | 'ended'>;
  readonly ledger: Pick<SqliteLedger, 'prune' | 'mustBeAdopted'>;
  readonly audit: Pick<AuditLog, 'head'>;
  readonly clock: Pick<VerifiedClock, 'now' | 'isVerified'>;
  readonly events: EventBus;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

export function scheduleUpkeep(deps: UpkeepDeps): void {
  const { scheduler, store, conditions, ledger, audit, clock, events, logger } = deps;
  let problem: string | undefined;
  scheduler.add({
    name: 'store-watch',
    schedule: { every: WATCH_EVERY_MS },
    timeoutMs: WATCH_EVERY_MS,
    jitter: 0,
    runAtStart: true,
    async run() {
      const found = store.problem;
      if (found === undefined) conditions.ended('store');
      else {
        if (found !== problem) events.emit({ type: 'store.failed', operation: 'watch', message: found });
        conditions.stands({
          key: 'store',
          severity: 'critical',
          summary: 'The store cannot be used',
          detail: `${found}; no policy acts, and counters do not advance`,
        });
      }
      problem = found;
    },
  });
  scheduler.add({
    name: 'audit-head',
    schedule: { every: HOUR_MS },
    timeoutMs: HOUR_MS,
    jitter: 0,
    async run() {
      const head = audit.head();
      // Kept elsewhere with the daemon's log, it shows a tail that was cut off.
      if (head !== undefined) logger.info({ head: `${head.sequence}:${head.hash}` }, 'the audit log ends here');
      const because = ledger.mustBeAdopted;
      if (because !== undefined) {
        logger.warn({ because }, 'policies do nothing until a person adopts the store: opsd state adopt --reason TEXT');
      }
    },
  });
  scheduler.add({
    name: 'ledger-retention',
    schedule: { every: DAY_MS },
    timeoutMs: HOUR_MS,
    jitter: 1,
    async run() {
      // By a clock that was set ahead everything would be old.
      if (!clock.isVerified()) return { againInMs: UNVERIFIED_MS };
      try {
        if (ledger.prune(clock.now()).more) return { againInMs: NEXT_BATCH_MS };
      } catch (error) {
        events.emit({ type: 'store.failed', operation: 'forgetting', message: errorMessage(error) });
      }
      return undefined;
    },
  });
}
