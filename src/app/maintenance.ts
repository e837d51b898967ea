/**
 * Maintenance of a daemon that runs for months: retention of the store, the end of its audit log, the integrity of its
 * file, its backups, the places of label values, and the heartbeat of the scheduler.
 */
import type { Engine } from '#automate/engine/engine.ts';
import type { Operations } from '#automate/ledger/operations.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { OneByOne } from '#foundation/platform/one-by-one.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { Logger } from '#foundation/platform/logger.ts';
import type { VerifiedClock } from '#foundation/events/verified-clock.ts';
import { reportStoreFailure } from '#foundation/events/store-failure.ts';
import type { Scheduler } from '#foundation/scheduler/scheduler.ts';
import type { Metrics } from '#observe/metrics/metrics.ts';
import type { SpanExport } from '#observe/tracing/spans.ts';
import type { ProbeDeps } from '#operate/http/probes.ts';
import type { BackupFolder } from '#storage/backup-folder.ts';
import type { SqliteLedger } from '#storage/sqlite-ledger.ts';
import type { ListenerCertificate } from './listener-security.ts';
import type { DaemonOptions } from './options.ts';
import type { Storage } from './storage.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Pause between two batches, since others write to the store as well. */
const NEXT_BATCH_MS = 5_000;
/** Interval of checks while no response of the service confirms the clock. */
const UNVERIFIED_MS = 60_000;
/** Interval of checks while another replica does what all share. */
const NOT_LEADING_MS = 600_000;
const WATCH_EVERY_MS = 10_000;
/** Interval of reading the policies and the engine for the metrics. Windows and expiries change without events. */
const READ_STORE_EVERY_MS = 10_000;
/** Interval of saving label values: a crash loses the places since the last save. */
const TIDY_LABELS_EVERY_MS = 10_000;
/** The scheduler counts as stuck if its heartbeat is older. */
const HEARTBEAT_MS = 5_000;
const HEARTBEAT_LATE_MS = 60_000;
/** Time to renew a certificate, as in the alert OpsdCertificateEnds. */
const CERTIFICATE_LEFT_MS = 14 * DAY_MS;
const LOOK_AT_BACKUPS_EVERY_MS = 60_000;
/** Maximum wait after a failed backup. */
const RETRY_BACKUP_MS = 600_000;

export interface UpkeepDeps {
  readonly scheduler: Pick<Scheduler, 'add'>;
  readonly store: Pick<Storage, 'problem' | 'auditHead' | 'replica'>;
  readonly conditions: Pick<Engine['others'], 'raise' | 'resolve'>;
  /** Absent without an endpoint for spans. */
  readonly spans: Pick<SpanExport, 'problem'> | undefined;
  readonly ledger: Pick<SqliteLedger, 'prune' | 'mustBeAdopted'>;
  readonly certificates: () => readonly ListenerCertificate[];
  readonly clock: Pick<VerifiedClock, 'now' | 'isVerified'>;
  readonly events: EventBus;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/** Task at an interval, whose run may take as long as the interval. */
const every = (name: string, ms: number) => ({ name, schedule: { every: ms }, timeoutMs: ms });

export function scheduleUpkeep(deps: UpkeepDeps): void {
  const { scheduler, store, conditions, ledger, events, logger } = deps;
  let problem: string | undefined;
  scheduler.add({
    ...every('store-watch', WATCH_EVERY_MS),
    async run() {
      const found = store.problem();
      if (found === undefined) conditions.resolve('store');
      else {
        if (found !== problem) events.emit({ type: 'store.failed', operation: 'watch', message: found });
        conditions.raise({
          key: 'store',
          severity: 'critical',
          summary: 'The store is unavailable',
          detail: `${found}; policies do not act, and counters do not advance`,
        });
      }
      problem = found;
      watchSpans(deps);
      watchName(deps);
      watchCertificates(deps);
    },
  });
  scheduler.add({
    ...every('audit-head', HOUR_MS),
    async run() {
      const head = store.auditHead();
      // Kept elsewhere with the daemon's log, this head reveals a truncated audit log.
      if (head !== undefined) logger.info({ head: `${head.sequence}:${head.hash}` }, 'audit log head');
      const because = ledger.mustBeAdopted;
      if (because !== undefined) {
        logger.warn({ because }, 'policies do not act');
      }
    },
  });
  scheduleDeletes(deps, { name: 'ledger-retention', every: DAY_MS, operation: 'retention' }, async (now) => {
    // One of the replicas prunes what all share.
    if (store.replica?.isLeader() === false) return NOT_LEADING_MS;
    return (await ledger.prune(now)).more ? NEXT_BATCH_MS : undefined;
  });
}

/** Schedules deletes of what is old. `work` returns after how many milliseconds it continues; undefined at its end. */
export function scheduleDeletes(
  { scheduler, clock, events }: Pick<UpkeepDeps, 'scheduler' | 'clock' | 'events'>,
  task: { readonly name: string; readonly every: number; readonly operation: string },
  work: (now: number) => Promise<number | undefined>,
): void {
  scheduler.add({
    name: task.name,
    schedule: { every: task.every },
    timeoutMs: HOUR_MS,
    jitter: 1,
    async run() {
      // With a clock set ahead, everything would look old.
      if (!clock.isVerified()) return { againInMs: UNVERIFIED_MS };
      try {
        const againInMs = await work(clock.now());
        return againInMs === undefined ? undefined : { againInMs };
      } catch (error) {
        reportStoreFailure(events, task.operation, error);
        return undefined;
      }
    },
  });
}

function watchSpans({ spans, conditions }: UpkeepDeps): void {
  const problem = spans?.problem();
  if (problem === undefined) return conditions.resolve('spans');
  return conditions.raise({
    key: 'spans',
    severity: 'warning',
    summary: 'Spans are not exported',
    detail: `the receiver of spans is ${problem.host}: ${problem.cause}; check it, and its address (docs/traces.md)`,
  });
}

/** Two replicas with one name get the accounts of one. */
function watchName({ store: { replica }, conditions }: UpkeepDeps): void {
  if (replica === undefined) return;
  if (!replica.hasNamesake) conditions.resolve('replica-name');
  else {
    conditions.raise({
      key: 'replica-name',
      severity: 'warning',
      summary: 'Another replica has the name of this one',
      detail: `only one of them works on accounts; give each its own name in storage.postgres.replica (now ${replica.name})`,
    });
  }
}

/** The listener works on with such a certificate, and clients that verify it reject the listener. */
function watchCertificates({ certificates, conditions, clock }: UpkeepDeps): void {
  const now = clock.now();
  const ending = certificates().filter(({ notAfter }) => notAfter - now < CERTIFICATE_LEFT_MS);
  if (ending.length === 0) return conditions.resolve('certificate');
  const isExpired = ending.some(({ notAfter }) => notAfter <= now);
  const texts = ending.map(
    ({ listener, file, notAfter }) =>
      `${listener}: ${file} ${notAfter <= now ? 'expired' : 'expires'} at ${new Date(notAfter).toISOString()}`,
  );
  return conditions.raise({
    key: 'certificate',
    severity: isExpired ? 'critical' : 'warning',
    summary: isExpired ? 'A certificate of a listener has expired' : 'A certificate of a listener expires soon',
    detail: `${texts.join('; ')}; clients reject an expired one. Replace certificate and key: the daemon reads both again`,
  });
}

interface BackupDeps extends Pick<UpkeepDeps, 'scheduler' | 'conditions' | 'events' | 'logger'> {
  readonly clock: Clock;
  readonly folder: BackupFolder;
  readonly every: number;
}

/** Schedules backups independent of restarts: the newest copy in the folder decides when the next one is due. */
export function scheduleBackups(deps: BackupDeps): void {
  const { scheduler, folder, every, conditions, clock, events, logger } = deps;
  const age = clock.now() - (folder.newest?.at ?? -Infinity);
  // A copy with a future time was named by a wrong clock.
  let dueAt = clock.monotonic() + (age >= 0 ? Math.max(0, every - age) : 0);
  scheduler.add({
    name: 'backup',
    schedule: { every: Math.min(every, LOOK_AT_BACKUPS_EVERY_MS) },
    timeoutMs: Math.max(every, HOUR_MS),
    async run(signal) {
      folder.look();
      if (clock.monotonic() < dueAt) return;
      try {
        const { file, bytes } = await folder.add(signal);
        dueAt = clock.monotonic() + every;
        conditions.resolve('backup');
        logger.info({ file, bytes }, 'backup written and verified');
      } catch (error) {
        if (signal.aborted) return;
        dueAt = clock.monotonic() + Math.min(every, RETRY_BACKUP_MS);
        const message = errorMessage(error);
        events.emit({ type: 'backup.failed', message });
        conditions.raise({
          key: 'backup',
          severity: 'warning',
          summary: 'A scheduled backup failed',
          detail: `${message}; earlier backups are kept, and the next attempt follows within 10 minutes`,
        });
      }
    },
  });
}

interface LabelDeps extends Pick<UpkeepDeps, 'scheduler' | 'events'> {
  readonly metrics: Pick<Metrics, 'tidyLabels'>;
}

/** Schedules saving the places of label values. @returns a function that saves them now */
export function scheduleLabels({ scheduler, metrics, events }: LabelDeps): () => Promise<void> {
  const saves = new OneByOne();
  const tidy = (): Promise<void> =>
    saves.run(async () => {
      try {
        await metrics.tidyLabels();
      } catch (error) {
        reportStoreFailure(events, 'save label values', error);
      }
    });
  scheduler.add({ ...every('labels', TIDY_LABELS_EVERY_MS), run: tidy });
  return tidy;
}

/** Schedules reading what the metrics show of the store. */
export function scheduleReadings(scheduler: UpkeepDeps['scheduler'], metrics: Pick<Metrics, 'readStore'>): void {
  scheduler.add({ ...every('readings', READ_STORE_EVERY_MS), run: () => metrics.readStore() });
}

/** @returns the health check of the scheduler */
export function scheduleHeartbeat(scheduler: Pick<Scheduler, 'add'>, clock: Clock): ProbeDeps['health'] {
  let beatAt = clock.monotonic();
  scheduler.add({ ...every('heartbeat', HEARTBEAT_MS), run: async () => void (beatAt = clock.monotonic()) });
  return () => {
    const lateMs = clock.monotonic() - beatAt;
    return lateMs < HEARTBEAT_LATE_MS
      ? { healthy: true, detail: 'the scheduler is running' }
      : { healthy: false, detail: `the scheduler has been silent for ${Math.round(lateMs / 1_000)} s` };
  };
}

/** Records that the outcome of operations is unknown if an earlier process ended before it arrived. */
export async function endInterruptedOperations(
  ledger: Pick<Operations, 'endInterruptedOperations'>,
  { clock, logger }: Pick<DaemonOptions, 'clock' | 'logger'>,
): Promise<void> {
  try {
    const operations = await ledger.endInterruptedOperations(clock.now());
    if (operations > 0)
      logger.warn({ operations }, 'operations were interrupted, their outcome is unknown; see opsd audit');
  } catch (error) {
    logger.error({ error: errorMessage(error) }, 'interrupted operations could not be recorded');
  }
}
