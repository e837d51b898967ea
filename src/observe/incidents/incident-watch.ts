/**
 * Keeps the incidents up to date: from the board's batches of the workflow DLQ, the dead letters of failure callbacks, and
 * the outages that the log shows. Reads nothing from the service.
 */
import { CANARY_LABEL } from '#foundation/domain/canary.ts';
import { DESTINATION_RULES } from '#foundation/domain/destination-state.ts';
import { MOST_DEAD_LETTERS, type DeadLetter } from '#foundation/domain/dead-letter.ts';
import { isAboutFailures, type Deploy } from '#foundation/domain/deploy.ts';
import {
  INCIDENT_STATES,
  isSnoozed,
  type Acknowledgment,
  type DeadLetterQueue,
  type Incident,
  type IncidentState,
} from '#foundation/domain/incident.ts';
import { isStamp } from '#foundation/domain/lineage.ts';
import type { Notification } from '#foundation/domain/notification.ts';
import type { Batch } from '#foundation/domain/observation.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import { nextTurn } from '#foundation/platform/next-turn.ts';
import { reportStoreFailure } from '#foundation/events/store-failure.ts';
import type { EventBus } from '#foundation/events/events.ts';
import type { ObservationBoard } from '../observations/board.ts';
import type { RecentAttempts } from '../observations/recent-attempts.ts';
import type { DeadLetterReading, IncidentBook, Recovery } from './incident-book.ts';
import { kindOfDeadLetter, kindOfOutage, kindOfRun } from './incident-kinds.ts';
import { IncidentLookup } from './incident-lookup.ts';
import { IncidentReports, reportTexts } from './incident-reports.ts';
import type { IncidentMark } from './incident-store.ts';

/** Resume of a failed run whose outcome is not verified yet. */
export interface OpenResume {
  readonly workflowUrl: string;
  /** Epoch milliseconds. */
  readonly failedAt: number;
  readonly status?: number;
  readonly campaign?: string;
}

type IncidentCondition = Omit<Notification, 'key' | 'at' | 'isResolved'> & { readonly key: `incident/${string}` };

export interface IncidentWatchDeps {
  /** Outlives the watch. */
  readonly book: IncidentBook;
  readonly board: ObservationBoard;
  readonly attempts: Pick<RecentAttempts, 'outages' | 'of' | 'destination'>;
  readonly clock: Clock;
  readonly events: EventBus;
  readonly accounts: readonly { readonly name: string; readonly dlqRetentionMs?: number }[];
  deadLetters(account: string, limit: number): Promise<readonly DeadLetter[]>;
  deploys(accounts: readonly string[], since: number): Promise<readonly Deploy[]>;
  openResumes(): Promise<ReadonlyMap<string, readonly OpenResume[]>>;
  readonly conditions: {
    active(): readonly { readonly key: string }[];
    raise(condition: IncidentCondition): void;
    resolve(key: string, isSnoozed: boolean): void;
  };
  /** Returns the address of a page of the daemon. */
  link(path: string): string;
}

export class IncidentWatch extends IncidentLookup implements AsyncDisposable {
  readonly #deps: IncidentWatchDeps;
  readonly #book: IncidentBook;
  readonly #reports = new IncidentReports();
  readonly #hearing = new DisposableStack();
  /** Newest batch of each account that is not taken yet. */
  readonly #waiting = new Map<string, Batch<'workflowDlq'>>();
  readonly #deadLetters = new Map<string, readonly DeadLetter[]>();
  /** Accounts whose dead letters must be read again. */
  readonly #changed: Set<string>;
  #work: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: IncidentWatchDeps) {
    super({ accounts: deps.accounts, setOf: () => deps.book.present });
    this.#deps = deps;
    this.#book = deps.book;
    this.#changed = new Set(deps.accounts.map(({ name }) => name));
    this.#hearing.use(
      deps.board.subscribe((batch) => {
        if (batch.collector !== 'workflowDlq') return;
        this.#waiting.set(batch.account, batch as Batch<'workflowDlq'>);
        this.refresh();
      }),
    );
    this.#hearing.use(
      deps.events.subscribe((event) => {
        const isCallback = event.type === 'callback.received' && event.kind === 'failure_callback';
        const isDelete = event.type === 'action.outcome' && event.action.startsWith('message-dlq.');
        if (isCallback || isDelete) this.#changed.add(event.account);
        // A deploy may end a snooze.
        if (event.type === 'deploy.reported') this.refresh();
      }),
    );
  }

  /** Takes everything that is new, and reviews states and reports. Call it periodically. Never overlaps itself. */
  refresh(): void {
    if (this.#isClosed) return;
    this.#work ??= this.#run().finally(() => {
      this.#work = undefined;
      if (this.#waiting.size > 0) this.refresh();
    });
  }

  /** Resolves when everything that was published before is grouped. */
  async settled(): Promise<void> {
    while (this.#work !== undefined) await this.#work;
  }

  /** Dead letters of messages, as last read from the ledger, oldest first. Undefined before the first reading. */
  deadLetters(account: string): readonly DeadLetter[] | undefined {
    return this.#deadLetters.get(account);
  }

  marks(): readonly IncidentMark[] {
    return this.#book.marks;
  }

  /** Set that the lookups use now. */
  get present(): IncidentBook['present'] {
    return this.#book.present;
  }

  counts(): ReadonlyMap<string, Readonly<Record<IncidentState, number>>> {
    const zero = () => Object.fromEntries(INCIDENT_STATES.map((state) => [state, 0])) as Record<IncidentState, number>;
    const counts = new Map(this.#deps.accounts.map(({ name }) => [name, zero()]));
    for (const { account, state } of this.#book.present.all()) {
      const of = counts.get(account);
      if (of !== undefined) of[state] += 1;
    }
    return counts;
  }

  /** Applies an acknowledgment or snooze that the ledger has recorded. */
  async acknowledge(id: string, acknowledged: Acknowledgment): Promise<Incident> {
    const incident = await this.#book.acknowledge(id, acknowledged, this.#deps.clock.now());
    this.refresh();
    return incident;
  }

  /** Ends the watch, and waits for its last commit. Its incidents can still be read. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#hearing.dispose();
    await this.settled();
  }

  async #run(): Promise<void> {
    // One turn later, so that the publisher is not delayed.
    await nextTurn();
    try {
      for (const [account, batch] of this.#waiting) {
        this.#waiting.delete(account);
        await this.#take(this.#runs(batch));
      }
      for (const { name: account } of this.#deps.accounts) {
        if (!this.#changed.has(account) && !this.#hasExpired(account)) continue;
        this.#changed.delete(account);
        await this.#take(await this.#messages(account));
      }
      if (this.#isClosed) return;
      await this.#takeDestinations();
      const verifying = await this.#verifying();
      const isDeployed = await this.#deployed();
      await this.#book.review(this.#deps.clock.now(), verifying, isDeployed);
      if (this.#isClosed) return;
      await this.#report();
    } catch (error) {
      for (const { name } of this.#deps.accounts) this.#changed.add(name);
      reportStoreFailure(this.#deps.events, 'commit of incidents', error);
    }
  }

  async #take<Row>(reading: DeadLetterReading<Row>): Promise<void> {
    if (this.#isClosed) return;
    for await (const _part of this.#book.take(reading)) {
      await nextTurn();
      if (this.#isClosed) return;
    }
  }

  #runs({ account, rows, dropped, at }: Batch<'workflowDlq'>): DeadLetterReading<WorkflowDlqEntry> {
    return {
      account,
      queue: 'workflow',
      rows,
      idOf: ({ dlqId }) => dlqId,
      atOf: ({ createdAt }) => createdAt,
      kindOf: kindOfRun,
      isOwn: ({ labels }) => labels.includes(CANARY_LABEL),
      isRefailed: ({ labels }) => labels.some(isStamp),
      // An invalid row may be any entry.
      completeFrom: dropped > 0 ? Infinity : -Infinity,
      retentionMs: this.#retention(account),
      at,
    };
  }

  async #messages(account: string): Promise<DeadLetterReading<DeadLetter>> {
    const at = this.#deps.clock.now();
    const listed = await this.#deps.deadLetters(account, MOST_DEAD_LETTERS);
    const retentionMs = this.#retention(account) ?? Infinity;
    // No operation lists the message DLQ. The ledger keeps a dead letter after the service has dropped it.
    const rows = listed.filter(({ learnedAt }) => learnedAt + retentionMs > at).toSorted(byAge);
    this.#deadLetters.set(account, rows);
    return {
      account,
      queue: 'message',
      rows,
      idOf: ({ dlqId }) => dlqId,
      atOf: ({ learnedAt }) => learnedAt,
      kindOf: kindOfDeadLetter,
      isOwn: () => false,
      isRefailed: () => false,
      completeFrom: listed.length < MOST_DEAD_LETTERS ? -Infinity : listed[0]!.learnedAt,
      retentionMs: this.#retention(account),
      at,
    };
  }

  /** Returns true if a dead letter of a message has expired since the last reading. */
  #hasExpired(account: string): boolean {
    const [oldest] = this.#deadLetters.get(account) ?? [];
    const retentionMs = this.#retention(account) ?? Infinity;
    return oldest !== undefined && oldest.learnedAt + retentionMs <= this.#deps.clock.now();
  }

  #retention(account: string): number | undefined {
    return this.#deps.accounts.find(({ name }) => name === account)?.dlqRetentionMs;
  }

  async #takeDestinations(): Promise<void> {
    const { accounts, attempts, clock } = this.#deps;
    for (const { name: account } of accounts) {
      const outages = attempts.outages(account);
      if (outages === undefined) continue;
      const failing = outages.map((outage) => ({
        account,
        ...kindOfOutage(outage),
        deliveries: {
          failed: outage.failed,
          lost: outage.lost,
          since: outage.since,
          isSinceKnown: outage.isSinceKnown,
          // A minute, which begins before its failures.
          lastAt: Math.max(outage.since, outage.lastAt),
          isFailing: true,
        },
      }));
      await this.#book.takeDestinations(account, failing, {
        at: clock.now(),
        recoveryOf: (host) => this.#recoveryOf(account, host),
      });
    }
  }

  #recoveryOf(account: string, host: string): Recovery {
    const { attempts } = this.#deps;
    const found = attempts.destination(account, host);
    if (found === undefined || found.state === 'failing') return undefined;
    if (found.state === 'healthy') return 'healthy';
    if (found.state !== 'unknown') return found.since;
    // No client sends to it any more: the attempts are known, and none failed for long.
    return attempts.of(account, host, DESTINATION_RULES.latelyMs)?.all === 0 ? 'healthy' : undefined;
  }

  /** Incidents whose resumed runs are not verified yet, with their campaigns. */
  async #verifying(): Promise<ReadonlyMap<string, readonly string[]>> {
    const open = await this.#deps.openResumes();
    const found = new Map<string, string[]>();
    for (const { name: account } of this.#deps.accounts) {
      const workflows = this.all().filter((incident) => incident.account === account && incident.kind === 'workflow');
      if (workflows.length === 0) continue;
      for (const resume of open.get(account) ?? []) {
        for (const incident of workflows) {
          if (!mayHaveHad(incident, resume)) continue;
          const campaigns = found.get(incident.id) ?? [];
          if (resume.campaign !== undefined && !campaigns.includes(resume.campaign)) campaigns.push(resume.campaign);
          found.set(incident.id, campaigns);
        }
      }
    }
    return found;
  }

  /** Returns a function that is true for incidents that are snoozed until a deploy, and had one. A roll-back is one too. */
  async #deployed(): Promise<(incident: Incident) => boolean> {
    const waiting = this.all().filter((incident) => isSnoozed(incident) && incident.acknowledged?.untilDeploy === true);
    if (waiting.length === 0) return () => false;
    const accounts = [...new Set(waiting.map(({ account }) => account))];
    const deploys = await this.#deps.deploys(accounts, Math.min(...waiting.map((one) => one.acknowledged!.at)));
    return (incident) => {
      const { at, untilDeploy } = incident.acknowledged!;
      const since = deploys.filter((deploy) => deploy.account === incident.account && deploy.at >= at);
      if (untilDeploy !== true || since.length === 0) return false;
      const urls = this.#urls(incident);
      return since.some((deploy) => isAboutFailures(deploy, incident, urls));
    };
  }

  #urls(incident: Incident): readonly string[] {
    const { id, account } = incident;
    const isMember = (queue: DeadLetterQueue, dlqId: string) => this.incidentOf(account, queue, dlqId) === id;
    const runs = this.#deps.board.latest(account, 'workflowDlq')?.rows ?? [];
    const messages = this.#deadLetters.get(account) ?? [];
    return [
      ...runs.flatMap(({ dlqId, workflowUrl }) => (isMember('workflow', dlqId) ? workflowUrl : [])),
      ...messages.flatMap(({ dlqId, url = [] }) => (isMember('message', dlqId) ? url : [])),
    ];
  }

  async #report(): Promise<void> {
    const { accounts, conditions, clock } = this.#deps;
    const unresolved = this.all().filter(({ state }) => state !== 'resolved');
    for (const { name } of accounts) {
      const unreported = unresolved.filter(({ account, reportedAs }) => account === name && reportedAs === undefined);
      for (const { key, ids } of this.#reports.due(name, unreported, clock.now())) {
        await this.#book.report(ids, key);
      }
    }
    // After the commit: after a crash in between, the next start raises the same conditions.
    const reported: ReadonlyMap<string, readonly Incident[]> = Map.groupBy(
      this.all().filter(({ state, reportedAs }) => state !== 'resolved' && reportedAs !== undefined),
      ({ reportedAs }) => reportedAs!,
    );
    const raised = new Set<string>();
    for (const [key, incidents] of reported) {
      const told = incidents.filter((incident) => !isSnoozed(incident));
      if (told.length === 0) continue;
      conditions.raise(this.#condition(told));
      raised.add(key);
    }
    for (const { key } of conditions.active()) {
      if (key.startsWith('incident/') && !raised.has(key)) conditions.resolve(key, reported.has(key));
    }
  }

  /** @param incidents that one condition reports */
  #condition(incidents: readonly Incident[]): IncidentCondition {
    const expiries = incidents.map((incident) => this.firstExpiresAt(incident) ?? Infinity);
    const firstExpiresAt = Math.min(...expiries);
    const link = (path: string) => this.#deps.link(path);
    return {
      key: incidents[0]!.reportedAs!,
      severity: 'warning',
      account: incidents[0]!.account,
      ...reportTexts({ incidents, link, ...(firstExpiresAt < Infinity && { firstExpiresAt }) }),
    };
  }
}

/** Returns true if a resumed run looks like a former member: the same workflow and status, and failed in its time. */
function mayHaveHad(incident: Incident, { workflowUrl, failedAt, status }: OpenResume): boolean {
  if (failedAt < incident.firstAt || failedAt > incident.lastAt) return false;
  const { place } = kindOfRun({ workflowUrl } as WorkflowDlqEntry);
  return incident.place === place && (status === undefined || incident.reason.startsWith(`HTTP ${status}`));
}

function byAge(a: DeadLetter, b: DeadLetter): number {
  return a.learnedAt - b.learnedAt || (a.dlqId < b.dlqId ? -1 : 1);
}
