/** A daemon as its server sees it: a real board on a stopped clock, and settings of the test. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished } from 'vitest';
import type { Incident } from '#foundation/domain/incident.ts';
import type { CollectorName } from '#foundation/domain/observation.ts';
import type { IdentifiedPlan, Plan, ResumeProposal } from '#foundation/domain/plan.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { ActionRecord } from '#automate/ledger/intents.ts';
import type { StoredPlan } from '#automate/ledger/plans.ts';
import type { Refusal, EngineCommands } from '#automate/ledger/commands.ts';
import { ObservationBoard } from '#observe/observations/board.ts';
import { createLogger } from '#foundation/platform/logger.ts';
import { ManualClock } from '#foundation/platform/manual-clock.ts';
import type { RunningServer } from '#operate/http/http-listener.ts';
import { startServer, type ServerDeps } from '#operate/server.ts';
import { emptyPorts } from '../../support/reading-ports.ts';
import { planOf } from '../../support/ledger-facts.ts';

export const NOW = Date.UTC(2026, 10, 18, 10, 30, 0);

/** A policy that resumes failed runs and may act. */
export const RESUME_BILLING: PolicyStatus = {
  name: 'resume-billing',
  account: 'production',
  action: 'workflow-dlq.resume',
  source: 'opsd.yaml:9',
  schedule: 'every 5m',
  mode: 'enforce',
  effectiveMode: 'enforce',
  campaigns: [],
};

export interface World extends ServerDeps {
  readonly clock: ManualClock;
  readonly board: ObservationBoard;
  /** Lines of the log. */
  readonly log: string[];
  /** Registers a collector that runs each minute, and whose readings are too old after three. */
  register(collector: CollectorName, account?: string): void;
  /** Publishes the reading of a collector. */
  publish(collector: CollectorName, rows: readonly object[], account?: string): void;
}

export function world(overrides: Omit<Partial<ServerDeps>, 'board'> = {}): World {
  const clock = new ManualClock(NOW);
  const log: string[] = [];
  const board = new ObservationBoard(clock);
  return {
    board,
    register: (collector, account = 'production') =>
      board.register({ account, collector, schedule: 'every 1m', intervalMs: 60_000, maxStalenessMs: 180_000 }),
    publish: (collector, rows, account = 'production') =>
      board.publish({ account, collector, at: NOW, rows, dropped: 0 }, 12),
    engine: engine(),
    state: {
      auditHead: async () => undefined,
      backup: () => Promise.resolve({ bytes: 0 }),
      adopt: async () => undefined,
      resetCounters: async () => [],
    },
    operate: () => Promise.reject(new Error('no operations in this world')),
    ledger: ledger(),
    logger: createLogger({ level: 'debug', destination: { write: (line) => void log.push(line) } }),
    metrics: () => Promise.resolve(scrapeBody('# HELP a b\na 1\n')),
    health: () => ({ healthy: true, detail: 'the scheduler is running' }),
    readiness: () => ({ ready: true, detail: 'first round done' }),
    policies: async () => [],
    accounts: [],
    incidents: incidents(),
    outages: () => [],
    deploy: async () => [],
    links: [],
    ...emptyPorts(),
    version: '0.1.0',
    startedAt: NOW - 3_600_000,
    ...overrides,
    clock,
    log,
  };
}

/** An empty ledger, except for the overrides. */
export function ledger(overrides: Partial<ServerDeps['ledger']> = {}): ServerDeps['ledger'] {
  return {
    recentActions: async () => [],
    actionsOf: async () => [],
    campaigns: async () => [],
    lastRuns: async () => [],
    unknownOutcomes: async () => new Map(),
    pauses: async () => [],
    timeline: async () => ({ points: [], repairs: [], flowControl: [], campaigns: [], pauses: [], deploys: [] }),
    storedPlans: async () => [],
    storedPlan: async () => undefined,
    runs: async () => [],
    recentRuns: async () => [],
    action: async () => undefined,
    actionsOn: async () => [],
    resumedFrom: async () => new Map(),
    deadLetters: async () => [],
    retriggers: async () => [],
    bodyFacts: async () => new Map(),
    noteEdit: async () => undefined,
    bodyContent: async () => undefined,
    deploys: async () => [],
    lineagesOfRuns: async () => new Map(),
    stepsOf: async () => [],
    policyVersions: async () => new Map(),
    pendingTriggers: async () => new Map(),
    budgetChangesOf: async () => new Map(),
    async view(use) {
      return use(this);
    },
    ...overrides,
  };
}

/** 183 runs of one workflow failed with 503. */
export function incident(overrides: Partial<Incident> = {}): Incident {
  return {
    id: 'i-4711',
    account: 'production',
    kind: 'workflow',
    place: 'app.example.com/invoice',
    reason: 'HTTP 503',
    cause: 'transient',
    state: 'open',
    firstAt: NOW - 1_680_000,
    lastAt: NOW - 60_000,
    openedAt: NOW - 1_600_000,
    now: { workflow: 183, message: 0 },
    ever: 190,
    expired: 0,
    aliases: [],
    campaigns: [],
    ...overrides,
  };
}

/** No incidents, except for the overrides. */
export function incidents(overrides: Partial<ServerDeps['incidents']> = {}): ServerDeps['incidents'] {
  return {
    all: () => [],
    find: () => undefined,
    firstExpiresAt: () => undefined,
    incidentOf: () => undefined,
    memberIds: () => [],
    deadLetters: () => [],
    marks: () => [],
    settled: () => Promise.resolve(),
    attempts: () => undefined,
    selectedBy: () => new Map(),
    acknowledge: (incident) => Promise.resolve(incident),
    readRow: () => Promise.resolve('no row'),
    ...overrides,
  };
}

/** An engine without policies, except for the overrides. */
export function engine(overrides: Partial<EngineCommands> = {}): EngineCommands {
  const unknown = (policy: string): Refusal => ({
    ok: false,
    code: 'unknown_policy',
    message: `There is no policy named ${policy}. Policies: resume-billing.`,
  });
  const noPlan: Refusal = { ok: false, code: 'unknown_plan', message: 'Plan x.' };
  return {
    conditions: () => [],
    plan: (policy) => Promise.resolve(unknown(policy)),
    planManually: () => Promise.resolve(noPlan),
    cancel: async () => noPlan,
    apply: () => Promise.resolve(noPlan),
    approve: async () => noPlan,
    reject: async () => noPlan,
    explain: (id) => Promise.resolve({ ok: true, id, policies: [], actions: [] }),
    pause: async () => undefined,
    unpause: async () => 0,
    stillPaused: async () => undefined,
    ...overrides,
  };
}

/** Body that the route for metrics gets. */
export function scrapeBody(...parts: readonly string[]): Awaited<ReturnType<ServerDeps['metrics']>> {
  return {
    contentType: 'text/plain; version=0.0.4',
    parts: parts.map((part) => Buffer.from(part)),
    gzip: () => Promise.resolve([gzipSync(parts.join(''))]),
  };
}

/** Starts a server that ends with the test. */
export async function serving(
  deps: ServerDeps,
  listen: Parameters<typeof startServer>[1] = { host: '127.0.0.1', port: 0 },
): Promise<RunningServer> {
  const server = await startServer(deps, listen);
  onTestFinished(async () => {
    const closed = server.close();
    // The clock cuts hanging requests.
    if (deps.clock instanceof ManualClock) await deps.clock.advance(2_000);
    await closed;
  });
  return server;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Address of the client, such as `127.0.0.2`. */
  readonly localAddress?: string;
  readonly agent?: import('node:http').Agent;
  readonly signal?: AbortSignal;
}

/** Sends one request to a server at `http://…` or at the path of a unix socket. */
export function ask(address: string, path: string, options: Ask = {}): Promise<Answer> {
  const { body, ...rest } = options;
  const where = address.startsWith('http://')
    ? { host: new URL(address).hostname.replace(/^\[|\]$/g, ''), port: new URL(address).port }
    : { socketPath: address };
  return new Promise((resolve, reject) => {
    const request = httpRequest({ ...where, path, ...rest }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const whole = Buffer.concat(chunks);
        resolve({ status: response.statusCode!, headers: response.headers, body: whole, text: whole.toString('utf8') });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** Asks a server of these parts, whose answer is JSON. */
export async function asked(deps: ServerDeps, path: string, options?: Ask) {
  const { address } = await serving(deps);
  const answer = await ask(address, path, options);
  return { ...answer, body: JSON.parse(answer.text) as unknown };
}

/** What a server of these parts answers where it refuses nothing. */
export async function got<T = unknown>(deps: ServerDeps, path: string): Promise<T> {
  const { status, text, body } = await asked(deps, path);
  expect(status, text).toBe(200);
  return body as T;
}

/** A raw connection with its received bytes. */
export function raw(address: string, sent = ''): Socket & { received: string } {
  const socket = Object.assign(connect({ host: '127.0.0.1', port: Number(new URL(address).port) }), { received: '' });
  socket.on('data', (chunk: Buffer) => (socket.received += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  socket.write(sent);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** Resolves at the end. An error on the way counts too. */
export function closed(socket: Socket): Promise<void> {
  return socket.closed ? Promise.resolve() : new Promise((resolve) => socket.once('close', () => resolve()));
}

export function proposal(overrides: Partial<ResumeProposal> = {}): ResumeProposal {
  return {
    policy: 'resume-billing',
    account: 'production',
    action: 'workflow-dlq.resume',
    target: 'dlq-8812',
    group: 'https://app.example.com/api/workflows/invoice',
    items: 1,
    dlqId: 'dlq-8812',
    workflowRunId: 'wfr_k2f',
    workflowUrl: 'https://app.example.com/api/workflows/invoice',
    lineage: 'l1',
    attempt: 1,
    failedAt: NOW - 1_800_000,
    labels: ['billing'],
    cause: 'transient',
    status: 503,
    ...overrides,
  };
}

export function action(overrides: Partial<ActionRecord> = {}): ActionRecord {
  return { id: 1, at: NOW - 60_000, runId: 1, epoch: 1, proposal: proposal(), ...overrides };
}

export function plan(overrides: Partial<Plan> = {}): IdentifiedPlan {
  return planOf({
    trigger: { kind: 'hand' },
    at: NOW,
    read: { pages: 20, entries: 241, complete: true, filterChecked: 241, clockSkewMs: 400 },
    chosen: [proposal()],
    matched: 189,
    backlog: 182,
    skipped: [{ guard: 'where', reason: 'permanent 400', count: 6 }],
    caps: [{ scope: 'policy', window: 'hour', used: 64, limit: 2_000 }],
    ...overrides,
  });
}

export function storedPlan(overrides: Partial<StoredPlan> = {}): StoredPlan {
  return {
    plan: plan(),
    revision: 1,
    targets: ['dlq-8812', 'dlq-8813'],
    savedAt: NOW - 120_000,
    expiresAt: NOW + 3_600_000,
    state: 'pending',
    ...overrides,
  };
}
