/** Two replicas in one process: one that owns `production`, and one that shows it from its view. */
import { onTestFinished } from 'vitest';
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { Batch } from '#foundation/domain/observation.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import { EventBus } from '#foundation/events/events.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import type { Condition } from '#automate/ledger/commands.ts';
import { IncidentBook } from '#observe/incidents/incident-book.ts';
import { IncidentSet } from '#observe/incidents/incident-set.ts';
import { IncidentWatch } from '#observe/incidents/incident-watch.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { RecentAttempts } from '#observe/observations/recent-attempts.ts';
import type { ServerDeps } from '#operate/server.ts';
import { type OwnFacts, type OwnMemory, ownAccount } from '#operate/views/own-account.ts';
import type { SharedAccount } from '#operate/views/account-view.ts';
import { RemoteViews } from '#operate/views/remote-views.ts';
import { shownPorts, type OtherReplicas } from '#operate/views/shown.ts';
import type { NewView, ViewStore } from '#operate/views/view-store.ts';
import { ViewWriter } from '#operate/views/view-writer.ts';
import { createIncidentStore } from '#storage/incident-store.ts';
import { openMemoryStore } from '#storage/memory-store.ts';
import { engine, NOW, RESUME_BILLING, world, type World } from '../operate/http/world.ts';
import { allCanaries } from './canaries.ts';

const ACCOUNTS = [{ name: 'production', messageApiUrl: 'https://api.example', dlqRetentionMs: 86_400_000 }];
export const MAX_STALENESS_MS = 180_000;

/** Views in memory, as the store has them. @param now returns the time of the store */
export function memoryViews(now: () => number) {
  const views = new Map<string, { at: number; body: Uint8Array; slices: Map<string, Uint8Array> }>();
  const written: NewView[] = [];
  const read: string[] = [];
  const state = { isAway: false };
  const store: ViewStore = {
    read: async (choose, wanted) =>
      new Map(
        choose({ now: now(), views: new Map([...views].map(([account, { at }]) => [account, at])) }).flatMap(
          (account) => {
            const view = views.get(account);
            if (view === undefined) return [];
            const ids = wanted(account, view.body);
            read.push(...ids);
            const slices = ids.flatMap((id) => (view.slices.has(id) ? [[id, view.slices.get(id)!] as const] : []));
            return [[account, { ...view, slices: new Map(slices) }] as const];
          },
        ),
      ),
    slices: async (account) => [...(views.get(account)?.slices.keys() ?? [])],
    write: async (added) => {
      if (state.isAway) throw new Error('the server is away');
      for (const view of added) {
        written.push(view);
        const before = views.get(view.account);
        const slices = new Map([...(before?.slices ?? []), ...view.added]);
        for (const id of slices.keys()) if (view.slices?.includes(id) === false) slices.delete(id);
        views.set(view.account, { at: Math.max(now(), (before?.at ?? 0) + 1), body: view.body, slices });
      }
    },
  };
  return { store, state, views, written, read };
}

export interface OwnerOptions {
  readonly deadLetters?: readonly DeadLetter[];
  readonly conditions?: readonly Condition[];
  readonly policies?: readonly PolicyStatus[];
}

/** The owner, with real memory of everything that it shows. @param clock clock of its process */
export async function owner(clock: ManualClock, options: OwnerOptions = {}) {
  const events = new EventBus();
  const board = new ObservationBoard(clock);
  for (const collector of ['logs', 'accountStats', 'flowControl', 'workflowDlq', 'urlGroups'] as const) {
    board.register({
      account: 'production',
      collector,
      schedule: 'every 1m',
      intervalMs: 60_000,
      maxStalenessMs: MAX_STALENESS_MS,
      ...(collector === 'urlGroups' && { off: 'disabled' }),
    });
  }
  const attempts = new RecentAttempts(clock);
  const incidents = new IncidentWatch({
    book: await IncidentBook.open(createIncidentStore(openMemoryStore('here'))),
    board,
    attempts,
    clock,
    events,
    accounts: ACCOUNTS,
    deadLetters: async () => options.deadLetters ?? [],
    deploys: async () => [],
    openResumes: async () => new Map(),
    conditions: { active: () => [], raise: () => undefined, resolve: () => undefined },
    link: (path) => path,
  });
  onTestFinished(() => incidents[Symbol.asyncDispose]());
  const facts: OwnFacts = {
    policies: options.policies ?? [RESUME_BILLING],
    conditions: options.conditions ?? [],
    labels: [],
    canaries: allCanaries(clock.now(), (text) => text),
  };
  const usage = [{ api: 'message', usedToday: 12, allowedPerDay: 1_000 }] as const;
  const memory: OwnMemory = { clock, board, attempts, incidents, usage: () => usage };
  const ports = portsOf({ ...memory, board, attempts, incidents }, facts);
  return {
    clock,
    board,
    attempts,
    incidents,
    /** The pages and the API of the owner. */
    shown: worldAt(clock, ports),
    publish: async (read: Omit<Batch, 'account' | 'at' | 'dropped'>): Promise<void> => {
      board.publish({ account: 'production', at: clock.now(), dropped: 0, ...read }, 12);
      await incidents.settled();
    },
    review: async (): Promise<void> => {
      incidents.refresh();
      await incidents.settled();
    },
    view: () => ownAccount('production', facts, memory),
  };
}

type OwnPorts = Parameters<typeof shownPorts>[0];

function portsOf(
  {
    board,
    attempts,
    incidents,
    usage,
  }: Pick<OwnMemory, 'usage'> & { board: OwnPorts['board']; attempts: RecentAttempts; incidents: IncidentWatch },
  { policies, conditions, labels, canaries }: OwnFacts,
): OwnPorts {
  const others = world().incidents;
  return {
    board,
    policies: async () => policies,
    engine: engine({ conditions: () => conditions }),
    outages: (account) => attempts.outages(account),
    incidents: {
      ...others,
      all: () => incidents.all(),
      find: (id) => incidents.find(id),
      firstExpiresAt: (incident) => incidents.firstExpiresAt(incident),
      incidentOf: (...place) => incidents.incidentOf(...place),
      memberIds: (...asked) => incidents.memberIds(...asked),
      deadLetters: (account) => incidents.deadLetters(account),
      attempts: (account, host) => attempts.of(account, host, 15 * 60_000),
    },
    canaries: { states: () => canaries },
    apiUsage: (account) => usage(account),
    labels: () => labels,
    liveReads: world().liveReads,
  };
}

function worldAt(clock: ManualClock, ports: OwnPorts, more: Partial<World> = {}): ServerDeps {
  return { ...world(), accounts: ACCOUNTS, ...ports, ...more, clock };
}

/** A replica that owns nothing. */
export function visitor(
  store: ViewStore,
  clock: ManualClock,
  configured: readonly PolicyStatus[] = [],
  isUnowned = false,
) {
  const readings: Batch[] = [];
  const views = new RemoteViews({
    store,
    clock,
    accounts: () => ACCOUNTS.map(({ name }) => name),
    onReading: (batch) => void readings.push(batch),
  });
  const none: OwnPorts = {
    board: new ObservationBoard(clock),
    policies: async () => [],
    engine: engine(),
    outages: () => undefined,
    incidents: world().incidents,
    canaries: { states: () => [] },
    apiUsage: () => [],
    labels: () => [],
    liveReads: world().liveReads,
  };
  const sent: string[] = [];
  const others: OtherReplicas = {
    logApi: (account) => ({
      listLogs: async ({ messageId }) => (sent.push(`${account} listLogs ${messageId}`), { value: [], dropped: 0 }),
      listWorkflowDlq: async () => ({ value: [], dropped: 0 }),
    }),
    readRow: async (account, { dlqId }) => (sent.push(`${account} readRow ${dlqId}`), { dlqId }),
    acknowledge: async (incident, { by }) => (
      sent.push(`${incident.account} acknowledge ${incident.id} ${by}`),
      incident
    ),
  };
  const ports = shownPorts(none, {
    clock,
    accounts: ACCOUNTS,
    isOwn: () => false,
    remote: (account) => views.of(account),
    incidents: () => new IncidentSet(),
    others,
    isUnowned: () => isUnowned,
    configured: () => configured,
  });
  return { views, readings, sent, shown: worldAt(clock, ports) };
}

/** Returns a function that writes the view of `production`, and rejects if that fails. */
export function writerTo(store: ViewStore): (view: SharedAccount) => Promise<void> {
  const failures: unknown[] = [];
  const writer = new ViewWriter(store, (error) => failures.push(error));
  return async (view) => {
    await writer.add('production', view);
    await writer.flush();
    for (const error of failures.splice(0)) throw error;
  };
}

/** An owner and a visitor over one store of views. @param skewMs time by which the visitor's clock is ahead */
export async function replicas(options: OwnerOptions = {}, skewMs = 0) {
  const clock = new ManualClock(NOW);
  const other = new ManualClock(NOW + skewMs);
  const { store, ...seen } = memoryViews(() => clock.now());
  const own = await owner(clock, options);
  const write = writerTo(store);
  const { views, ...rest } = visitor(store, other, options.policies);
  return {
    ...seen,
    store,
    owner: own,
    visitor: rest,
    write: () => write(own.view()),
    refresh: () => views.refresh(),
    /** Lets time pass for all. */
    pass: async (ms: number): Promise<void> => {
      await clock.advance(ms);
      await other.advance(ms);
    },
  };
}

export function failedRun(dlqId: string, overrides: Partial<WorkflowDlqEntry> = {}): WorkflowDlqEntry {
  return {
    dlqId,
    workflowRunId: `wfr-${dlqId}`,
    workflowUrl: 'https://shop.example/flows/checkout',
    createdAt: NOW - 60_000,
    labels: ['billing'],
    responseStatus: 503,
    ...overrides,
  };
}
