/** Invariants of a history, against the emulator's own books. */
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import type { KeptNotification } from '#operate/notifications/notification-store.ts';
import { expositionOf, serviceCounts, type Exposition } from '../support/exposition.ts';
import { logTruth, toldByMetrics, type LogTruth } from '../support/log-truth.ts';
import type { LogRow } from '../support/service.ts';
import { checkAudit } from './audit.ts';
import { Canaries } from './canaries.ts';
import type { LogLine, SimDaemon } from './daemon.ts';
import type { Alerts } from './alerts.ts';
import { checkEffects, checkIntent } from './effects.ts';
import { Figures } from './figures.ts';
import { formOf, isOfCanary, requestOf, type Request } from './forms.ts';
import { EPOCH, Process, type Loop } from './loop.ts';
import type { Operator } from './operator.ts';
import { POLICIES } from './policies.ts';
import type { Receiver } from './receiver.ts';
import * as repairs from './repairs.ts';
import { ACCOUNT, type SimService } from './service.ts';
import { hasStaging, STAGING } from './staging.ts';
import type { Books, Subject } from './subject.ts';
import { none, Violation } from './violation.ts';
import { observeWith, type Beginning } from './wire.ts';

const MINUTE = 60_000;
/** Interval of the scrapes. */
const SCRAPE_MS = 5 * MINUTE;
/** Maximum time between two runs of a policy or collector at rest. */
const LONGEST_EVERY_MS = 31 * MINUTE;

/** Maximum age of the end of the counted log at rest. */
const LONGEST_UNREAD_MS = 7 * MINUTE;

/** Maximum time from an intent to its last outcome at rest. */
const LONGEST_SETTLE_MS = 25 * MINUTE;

/** Log lines that only a defect of the daemon writes. */
const DEFECTS = ['http server failed', 'sending a response failed', 'teardown step failed', 'teardown step timed out'];

/** Runs of policies whose actions are not those that the ledger has. */
const MISCOUNTED = `
  SELECT id, policy, acted FROM runs
  WHERE finished_at IS NOT NULL AND acted <> (
    SELECT coalesce(sum(CASE action WHEN 'message-dlq.prune' THEN first.done ELSE 1 END), 0)
    FROM intents JOIN outcomes first ON first.id = (SELECT min(id) FROM outcomes WHERE intent_id = intents.id)
    WHERE run_id = runs.id AND first.outcome = 'accepted')`;

/** Pending triggers, other than those that a guard holds. */
const UNPROCESSED = `
  SELECT policy, key FROM triggers
  WHERE pending IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM runs
    WHERE policy = triggers.policy AND runs.at >= triggers.at AND outcome IN ('held', 'deferred', 'denied'))`;

/** Counts of late entries that were paired wrongly at first. The second one is not among the metrics by default. */
const UNSURE = `
  SELECT metric FROM counters
  WHERE metric IN ('opsd_log_unjoined_attempts_total', 'opsd_log_revised_durations_total') AND value > 0`;

interface Account {
  readonly name: string;
  /** At the service. */
  readonly id: string;
  readonly figures: Figures;
}

interface CheckedOf {
  readonly service: SimService;
  readonly receiver: Receiver;
  readonly alerts: Alerts;
}

export class Checks {
  readonly #loop: Loop;
  readonly #service: SimService;
  readonly #prometheus = new Process('prometheus');
  readonly #receiver: Receiver;
  /** Accounts, with their figures at the service. */
  readonly #accounts: readonly Account[];
  readonly #alerts: Alerts;
  /** Conditions whose end the receiver is not notified of. */
  readonly #snoozed = new Set<string>();
  readonly #canaries: Canaries;
  #counted: ReadonlyMap<string, number> = new Map();

  constructor(loop: Loop, { service, receiver, alerts }: CheckedOf) {
    this.#loop = loop;
    this.#receiver = receiver;
    this.#service = service;
    this.#alerts = alerts;
    this.#accounts = [{ name: 'production', id: ACCOUNT }, ...(hasStaging(loop) ? [STAGING] : [])].map((account) => ({
      ...account,
      figures: new Figures(service, account.id),
    }));
    this.#canaries = new Canaries(loop, service);
  }

  /** Checks a log line of the daemon. */
  heard({ msg, ...fields }: LogLine): void {
    if (DEFECTS.includes(msg)) this.#fail(new Violation('no step of the daemon fails', { msg, ...fields }));
    if (msg === 'condition snoozed') this.#snoozed.add(String(fields['key']));
    if (msg === 'condition active') this.#snoozed.delete(String(fields['key']));
  }

  /** Checks each write before it is sent, and scrapes from time to time. */
  watch(subject: Subject, operator: Operator): void {
    const forbids = (owner: Process) => (subject.owns(owner) ? subject.forbids(owner) : []);
    const sees = (owner: Process, head: string, { forbidden, at }: Beginning): void => {
      if (!subject.owns(owner)) return;
      const isRead = head.startsWith('GET ');
      const account = head.includes(STAGING.token) ? STAGING.name : 'production';
      const reason = forbidden.find((one) => one.account === account);
      const isHarmless = isRead || isOfCanary(requestOf(head));
      if (reason !== undefined && !(isHarmless && reason.mayRead))
        this.#fail(new Violation('only the owner of an account acts on it', reason));
      if (isRead) return;
      // The request in progress is still sent.
      const isPaused = operator.pausedAt < at;
      this.#whenCommitted(subject, () => this.#sends(subject.books, requestOf(head), isPaused));
    };
    const notifies = (text: string, { forbidden }: Beginning): void => {
      const reason = forbidden.find(({ account, mayRead }) => !mayRead && text.includes(`"account":"${account}"`));
      if (reason !== undefined) this.#fail(new Violation('only the owner of an account notifies about it', reason));
    };
    observeWith(this.#loop, { forbids, sees, notifies });
    this.#scrapeLater(subject);
  }

  /** Checks what must hold after a time without faults. */
  async atRest(subject: Subject): Promise<void> {
    const metrics = await this.#scrape(subject);
    const rows = (sql: string, ...values: readonly number[]) => subject.books.prepare(sql).all(...values);
    // One of this moment is on its way.
    const queued = rows('SELECT receiver, record FROM notification_queue').filter(({ record }) => {
      const { notification, isWill } = JSON.parse(String(record)) as KeptNotification;
      return isWill !== true && notification.at < EPOCH + this.#loop.time - MINUTE;
    });
    none('every notification is delivered', queued);
    const settled = EPOCH + this.#loop.time - LONGEST_SETTLE_MS;
    const open = 'SELECT id, action, target, at FROM intents WHERE at < ? AND id IN (SELECT intent_id FROM unsettled)';
    none('every outcome is determined', rows(open, settled));
    none('every trigger is processed', rows(UNPROCESSED));
    none('no policy is paused', rows('SELECT scope, reason FROM pauses WHERE lifted_at IS NULL'));
    none(
      'no policy run fails',
      rows(
        `SELECT policy, detail FROM runs WHERE outcome = 'failed' AND detail NOT LIKE '%disk is full%' AND detail NOT LIKE '%no space left%'
           AND detail NOT LIKE '%the PostgreSQL store is unavailable%'`,
      ),
    );
    none('the counts of a run are those of its intents', rows(MISCOUNTED));
    const since = EPOCH + this.#loop.time - LONGEST_EVERY_MS;
    const idle = 'SELECT policy, max(at) AS last FROM runs GROUP BY policy HAVING max(at) < ?';
    none(
      'every policy continues to run',
      rows(idle, since).filter(({ policy }) => POLICIES[String(policy)]?.isScheduled === true),
    );
    const stale = metrics
      .all('opsd_collector_last_success_timestamp_seconds')
      .filter(({ value }) => value * 1_000 < since);
    none('every collector continues to read', stale);
    this.#canaries.atRest(subject.books, metrics);
  }

  /** Compares what the receiver knows with the active conditions. @returns the difference, if there is one */
  notifications({ books }: Subject): Violation | undefined {
    const kept = books
      .prepare('SELECT record FROM notifications')
      .all()
      .map(({ record }) => JSON.parse(String(record)) as KeptNotification);
    const active = new Set(kept.filter(({ endedAt, isUntold }) => endedAt === undefined && !isUntold).map(keyOf));
    const firing = [...this.#receiver.last].filter(([, status]) => status === 'firing').map(([key]) => key);
    const unresolved = firing.filter((key) => !active.has(key) && !this.#snoozed.has(key));
    if (unresolved.length > 0) return new Violation('every condition is resolved at its receiver', unresolved);
    const untold = [...active].filter((key) => this.#receiver.last.get(key) !== 'firing');
    return untold.length > 0 ? new Violation('every active condition is known to its receiver', untold) : undefined;
  }

  /** Compares the metrics with the service's own figures. @returns the difference, if there is one */
  async counters(subject: Subject): Promise<Violation | undefined> {
    const all = await this.#scrape(subject);
    const isRevised = subject.books.prepare(UNSURE).all().length > 0;
    for (const account of this.#accounts) {
      const found = await this.#difference(ofAccount(all, account.name), account, isRevised);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #difference(metrics: Exposition, { id, figures }: Account, isRevised: boolean): Promise<Violation | undefined> {
    const counted = 1_000 * (metrics.value('opsd_log_watermark_timestamp_seconds') ?? 0);
    if (counted < EPOCH + this.#loop.time - LONGEST_UNREAD_MS) return new Violation('the log is read', { counted });
    // Canaries are sent until the end.
    const rows = (await this.#service.logRows(id)).filter(({ time }) => time <= counted);
    const isUnsure = isRevised || goesBack(rows);
    const truth = logTruth(rows);
    const told = toldByMetrics(metrics);
    for (const part of ['counters', 'inFlight', ...(isUnsure ? [] : (['histograms'] as const))] as const) {
      if (!isDeepStrictEqual(told[part], truth[part]))
        return new Violation(`the ${part} equal the truth`, difference(told[part], truth[part]));
    }
    return figures.difference(metrics);
  }

  /** Checks the files after the stop. */
  async afterEnd(daemon: SimDaemon): Promise<void> {
    using db = new DatabaseSync(daemon.store, { readOnly: true });
    this.effects(db);
    await checkAudit(daemon.store, db);
  }

  /**
   * Checks all effects after the end.
   *
   * @param arrivals facts about canaries that their owner has not read
   */
  effects(books: Books, arrivals: readonly string[] = []): void {
    this.#service.take();
    checkEffects(this.#service.sent, books);
    repairs.checkRepublished(this.#service);
    repairs.checkPrunes(this.#service.sent);
    repairs.checkBudgets(this.#service.budgets);
    repairs.checkTriggers(books);
    repairs.checkBodies(books);
    repairs.checkApprovals(books);
    this.#alerts.check(books);
    const left = books.prepare('SELECT record FROM notification_queue').all();
    none(
      'a process that stopped leaves no end of its condition',
      left.filter(({ record }) => (JSON.parse(String(record)) as KeptNotification).isWill === true),
    );
    this.#canaries.check(books, arrivals);
  }

  #sends(books: Books, sent: Request, isPaused: boolean): void {
    this.#canaries.sends(books, sent);
    const form = formOf(sent);
    if (form === 'of no policy') return;
    none('nothing is sent during a pause', isPaused ? [sent.path] : []);
    checkIntent(books, sent);
    if (form.action !== 'message-dlq.delete') return;
    for (const id of form.keysOf(sent)) repairs.checkDelete(this.#service, books, id);
  }

  /** Checks the store once it shows only what is committed. */
  #whenCommitted(subject: Subject, check: () => void): void {
    subject.whenCommitted(() => {
      try {
        check();
      } catch (error) {
        this.#fail(error);
      }
    });
  }

  #fail(error: unknown): void {
    this.#loop.failure ??= error;
  }

  #scrapeLater(subject: Subject): void {
    this.#loop.after(SCRAPE_MS, this.#prometheus, 'scrape', () => {
      this.#service.take();
      this.#scrape(subject).catch((error: unknown) => {
        // Otherwise, the daemon does not run now.
        if (error instanceof Violation) this.#fail(error);
      });
      this.#scrapeLater(subject);
    });
  }

  async #scrape(subject: Subject): Promise<Exposition> {
    const { metrics, isPresent } = await subject.scrape(this.#prometheus);
    if (isPresent) {
      this.#counted = grown(this.#counted, metrics);
      this.#whenCommitted(subject, () => this.#canaries.look(subject.books));
    }
    return metrics;
  }
}

/** Returns true if the service's clock was set back in the life of a message: its entries have no order by time. */
function goesBack(rows: readonly LogRow[]): boolean {
  const last = new Map<string, number>();
  return rows.some(({ messageId, time }) => {
    const before = last.get(messageId) ?? time;
    last.set(messageId, time);
    return time < before;
  });
}

/** Returns the metrics of an account. */
function ofAccount({ samples, types }: Exposition, account: string): Exposition {
  return expositionOf(
    samples.filter(({ labels }) => labels['account'] === account),
    types,
  );
}

const keyOf = ({ notification }: KeptNotification): string => notification.key;

type Told = LogTruth['counters'] | LogTruth['histograms'];

function difference(told: Told, truth: Told): object {
  const names = [...new Set([...Object.keys(told), ...Object.keys(truth)])];
  const different = names.filter((name) => !isDeepStrictEqual(told[name], truth[name]));
  return different.map((name) => ({ name, told: told[name], truth: truth[name] }));
}

/** Returns the counts about the service, by series. */
function grown(before: ReadonlyMap<string, number>, metrics: Exposition): ReadonlyMap<string, number> {
  // Counters of canaries start from 0 with each process.
  const now = new Map([...serviceCounts(metrics)].filter(([series]) => !series.startsWith('msgsvc_canary_')));
  const lost = [...before].filter(([series, value]) => !((now.get(series) ?? -1) >= value - 1e-9));
  none(
    'no counter decreases',
    lost.map(([series, value]) => ({ series, before: value, now: now.get(series) })),
  );
  return now;
}
