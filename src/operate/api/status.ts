/** Status of the daemon at one time. */
import type { CollectorName } from '#foundation/domain/observation.ts';
import type { Condition } from '#automate/ledger/commands.ts';
import type { BoardReader, CollectorStatus } from '#observe/observations/board.ts';
import { errorMessage } from '#foundation/platform/error-message.ts';
import { outageViews } from '../situation/outages.ts';
import type { ApiDeps, LedgerReader } from './api-deps.ts';
import { runView } from './run-views.ts';
import {
  NOT_READ,
  presentOutages,
  readStored,
  type AccountOutages,
  type Status,
  type StoredFacts,
} from './stored-status.ts';
import type { RunView } from '../contract/policies.ts';
import type { ReconciliationView, SourceView, Verdict } from '../contract/status.ts';
import type { RepairDeps } from './incident-repairs.ts';
import { judge } from './verdict.ts';

/** Part of `ApiDeps` that a status needs. */
export type StatusDeps = Pick<
  ApiDeps,
  | 'clock'
  | 'board'
  | 'health'
  | 'readiness'
  | 'policies'
  | 'accounts'
  | 'replica'
  | 'outages'
  | 'canaries'
  | 'apiUsage'
  | 'version'
  | 'configHash'
  | 'pagesUrl'
  | 'startedAt'
> & {
  readonly ledger: Pick<ApiDeps['ledger'], 'view'>;
  readonly engine: Pick<ApiDeps['engine'], 'conditions'>;
  readonly incidents: RepairDeps['incidents'];
};

/**
 * Status as of one moment of the store. A store that cannot be read must not break the page, since operators look there
 * first: the status then has the error.
 *
 * @param actionLimit maximum number of actions, newest first
 * @param signal ends the reading of the store
 */
export async function readStatus(deps: StatusDeps, actionLimit: number, signal?: AbortSignal): Promise<Status> {
  return (await readStatusAnd(deps, { actionLimit, also: async () => undefined, signal })).status;
}

interface StatusAnd<T> {
  readonly actionLimit: number;
  readonly also: (ledger: LedgerReader, stored: StoredFacts) => Promise<T>;
  readonly signal?: AbortSignal | undefined;
}

/** @returns the status, and what else was read at the same moment; undefined if the store cannot be read */
export async function readStatusAnd<T>(
  deps: StatusDeps,
  { actionLimit, also, signal }: StatusAnd<T>,
): Promise<{ readonly status: Status; readonly other: T | undefined }> {
  const outages = presentOutages(deps);
  const { stored, other } = await deps.ledger
    .view(async (ledger) => {
      const stored = await readStored(deps, ledger, { actionLimit, outages });
      return { stored, other: await also(ledger, stored) };
    }, signal)
    .catch((error: unknown) => ({ stored: { ...NOT_READ, error: errorMessage(error) }, other: undefined }));
  return { status: statusOf(deps, outages, stored), other };
}

/** Maximum number of runs on a page of policies: fewer of each policy if there are many. */
const MOST_RUNS = 600;
const MOST_OF_POLICY = 50;
const LEAST_OF_POLICY = 10;

/** Status, and the newest runs of each policy, newest first. The last one is the same as in the status. */
export async function readPolicies(
  deps: StatusDeps,
  signal?: AbortSignal,
): Promise<Status & { readonly runs: readonly RunView[] }> {
  const also = async (ledger: LedgerReader, { policies }: StoredFacts) => {
    const names = policies.map(({ name }) => name);
    const limit = Math.min(MOST_OF_POLICY, Math.max(LEAST_OF_POLICY, Math.floor(MOST_RUNS / names.length)));
    return names.length === 0 ? [] : ledger.recentRuns(names, limit);
  };
  const { status, other: runs = [] } = await readStatusAnd(deps, { actionLimit: 0, also, signal });
  const last = new Map(status.policies.map(({ name, lastRun }) => [name, lastRun]));
  const views = runs
    .map(runView)
    .map((run) => ({ ...run, ...(last.get(run.policy)?.id === run.id && last.get(run.policy)) }));
  return { ...status, runs: views };
}

/** Facts of the daemon's memory, with those of the store. */
export function statusOf(deps: StatusDeps, outages: readonly AccountOutages[], stored: StoredFacts): Status {
  const at = deps.clock.now();
  const health = deps.health();
  const readiness = deps.readiness();
  const facts = {
    at,
    version: deps.version,
    configHash: deps.configHash,
    pagesUrl: deps.pagesUrl?.(),
    startedAt: deps.startedAt,
    healthy: health.healthy,
    healthDetail: health.detail,
    ready: readiness.ready,
    readyDetail: readiness.detail,
    ...readLeases(deps),
    outages: outages.flatMap((one) => outageViews({ at, ...one, ...stored })),
    outagesUnknown: outages.flatMap(({ account, isKnown }) => (isKnown ? [] : [account])),
    ...readSources(deps),
    conditions: deps.engine.conditions().toSorted(bySeverity),
    pauses: stored.pauses,
    plans: stored.plans,
    approvals: stored.approvals,
    policies: stored.policies,
    actions: stored.actions,
    unknownOutcomes: stored.unknown,
    repairs: stored.repairs,
    storeError: stored.error,
  };
  return { ...facts, verdict: verdictOf(deps, facts) };
}

/** Status without what belongs to other accounts, with the verdict of the rest. */
export function ofAccount(deps: StatusDeps, status: Status, name: string): Status {
  const isOf = ({ account = name }: { readonly account?: string }) => account === name;
  const facts = {
    ...status,
    accounts: status.accounts.filter((account) => account.name === name),
    outages: status.outages.filter(isOf),
    outagesUnknown: status.outagesUnknown.filter((account) => account === name),
    sources: status.sources.filter(isOf),
    reconciliation: status.reconciliation.filter(isOf),
    conditions: status.conditions.filter(isOf),
    plans: status.plans.filter(isOf),
    approvals: status.approvals.filter(isOf),
    policies: status.policies.filter(isOf),
    actions: status.actions.filter(isOf),
  };
  return { ...facts, verdict: verdictOf(deps, facts, isOf) };
}

function verdictOf(
  deps: StatusDeps,
  facts: Omit<Status, 'verdict'>,
  isOf: (row: { readonly account: string }) => boolean = () => true,
): Verdict {
  return judge(facts, {
    canaries: deps.canaries.states().filter(isOf),
    incidents: deps.incidents.all().filter(({ state }) => state !== 'resolved'),
    repairs: facts.repairs,
  });
}

/** Facts about the data from the service. They need no read of the store. */
export function readSources({
  accounts,
  board,
}: Pick<ApiDeps, 'accounts' | 'board'>): Pick<Status, 'sources' | 'reconciliation'> {
  return {
    sources: sourceViews(board),
    reconciliation: accounts.flatMap(({ name: account }) => reconciliationOf(board, account)),
  };
}

export function readLeases({
  accounts,
  apiUsage,
  replica,
}: Pick<ApiDeps, 'accounts' | 'apiUsage' | 'replica'>): Pick<Status, 'accounts' | 'replica' | 'leaseError'> {
  const leaseError = replica?.problem;
  const owners = leaseError === undefined ? replica?.owners() : undefined;
  return {
    accounts: accounts.map((account) => {
      const lease = owners?.get(account.name);
      return { ...account, usage: apiUsage?.(account.name) ?? [], lease };
    }),
    replica: replica?.name,
    leaseError,
  };
}

const SEVERITIES: readonly Condition['severity'][] = ['critical', 'warning', 'info'];

function bySeverity(a: Condition, b: Condition): number {
  return SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || a.since - b.since;
}

function reconciliationOf(board: BoardReader, account: string): ReconciliationView[] {
  const rows = board.fresh(account, 'accountStats')?.rows ?? [];
  return rows.flatMap(({ reconciled = [] }) => reconciled.map((row) => ({ account, ...row })));
}

export function sourceViews(board: BoardReader): SourceView[] {
  return board.statuses().map((status) => sourceView(board, status));
}

function sourceView(board: BoardReader, status: CollectorStatus): SourceView {
  const batch = board.latest<CollectorName>(status.account, status.collector);
  const { watermark: countedUntilAt, ...lag } =
    (status.collector === 'logs' ? board.logLag.of(status.account) : undefined) ?? {};
  return {
    ...status,
    state: sourceState(status, board.isStale(status.account, status.collector)),
    rows: batch?.rows.length,
    dropped: batch?.dropped,
    countedUntilAt,
    ...lag,
  };
}

function sourceState(status: CollectorStatus, stale: boolean): SourceView['state'] {
  if (status.off !== undefined) return 'off';
  if (status.runs === 0) return 'pending';
  if (stale && status.lastSuccessAt !== undefined) return 'stale';
  return status.lastRunFailed ? 'failing' : 'ok';
}
