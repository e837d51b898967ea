/** Part of a status that the store has: read at one moment. */
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { Pause } from '#automate/ledger/pauses.ts';
import type { RunRecord } from '#automate/ledger/reports.ts';
import { outageHost, type OutageFacts } from '../situation/outages.ts';
import type { ApiDeps, LedgerReader } from './api-deps.ts';
import { actionView, runView } from './run-views.ts';
import type { ActionView, PolicyView, RunView } from '../contract/policies.ts';
import type { StoredPlanView } from '../contract/plans.ts';
import type { SourceView, StatusFacts } from '../contract/status.ts';
import { incidentRepairs, type RepairDeps } from './incident-repairs.ts';
import { storedPlanView } from './stored-plans.ts';
import type { Repair } from '../contract/incidents.ts';

export interface StoredFacts {
  readonly policies: readonly PolicyView[];
  readonly actions: readonly ActionView[];
  readonly unknown: number;
  readonly pauses: readonly Pause[];
  readonly plans: readonly StoredPlanView[];
  /** Plans with an active approval. */
  readonly approvals: readonly StoredPlanView[];
  readonly selecting: OutageFacts['selecting'];
  readonly repairs: ReadonlyMap<string, Repair>;
  /** Reason why the store was not read. */
  readonly error?: string;
}

/** Complete status, with the lists that have their own address. */
export interface Status
  extends StatusFacts, Pick<StoredFacts, 'plans' | 'approvals' | 'policies' | 'actions' | 'repairs'> {
  readonly sources: readonly SourceView[];
}

/** Facts of a store that was not read. */
export const NOT_READ: StoredFacts = {
  policies: [],
  actions: [],
  unknown: 0,
  pauses: [],
  plans: [],
  approvals: [],
  selecting: new Map(),
  repairs: new Map(),
};

/** Destinations of an account that are down. */
export interface AccountOutages extends Pick<OutageFacts, 'account' | 'outages' | 'runs' | 'dlqRetentionMs'> {
  /** False without a reading of the account's log. */
  readonly isKnown: boolean;
}

export function presentOutages({
  accounts,
  board,
  outages,
}: Pick<ApiDeps, 'accounts' | 'board' | 'outages'>): AccountOutages[] {
  return accounts.map(({ name: account, dlqRetentionMs }) => {
    const found = outages(account);
    const entries = found && found.length > 0 ? board.fresh(account, 'workflowDlq')?.rows : undefined;
    return {
      account,
      isKnown: found !== undefined,
      outages: found ?? [],
      runs: entries && Map.groupBy(entries, ({ url, workflowUrl }) => outageHost(url ?? workflowUrl)),
      dlqRetentionMs,
    };
  });
}

/** Part of `ApiDeps` that the reading needs. */
type StoredDeps = Pick<ApiDeps, 'clock' | 'policies'> & RepairDeps;

/** @throws if the store cannot be read */
export async function readStored(
  deps: StoredDeps,
  ledger: LedgerReader,
  { actionLimit, outages }: { readonly actionLimit: number; readonly outages: readonly AccountOutages[] },
): Promise<StoredFacts> {
  const at = deps.clock.now();
  const [unknown, stored, lastRuns, statuses, actions, pauses, selecting] = await Promise.all([
    ledger.unknownOutcomes(),
    ledger.storedPlans(['pending', 'approved'], at),
    ledger.lastRuns(),
    deps.policies(ledger),
    actionLimit === 0 ? [] : ledger.recentActions(actionLimit),
    ledger.pauses(),
    selectionsOf(outages, deps, ledger),
  ]);
  const plans = stored.map((plan) => storedPlanView(plan));
  const [runs, repairs] = await Promise.all([
    withDecisions(lastRuns, plans, { ledger, at }),
    incidentRepairs(deps, ledger, { statuses, stored }),
  ]);
  return {
    policies: statuses.map((policy) => policyView(policy, runs)),
    actions: actions.map(actionView),
    unknown: unknown.values().reduce((sum, count) => sum + count, 0),
    pauses,
    plans: plans.filter(({ state }) => state === 'pending'),
    approvals: plans.filter(({ state }) => state === 'approved'),
    selecting,
    repairs,
  };
}

/** Maximum number of failed runs per destination that are evaluated to find the policies that select them. */
const MOST_EVALUATED = 200;

async function selectionsOf(
  outages: readonly AccountOutages[],
  { incidents }: StoredDeps,
  ledger: LedgerReader,
): Promise<StoredFacts['selecting']> {
  const found = outages.map(async ({ account, outages: down, runs }) => {
    const failed = down.flatMap(({ host }) => {
      const all = runs?.get(host);
      return all === undefined ? [] : [{ all, sample: all.slice(0, MOST_EVALUATED) }];
    });
    if (failed.length === 0) return [];
    const lineages = await ledger.lineagesOfRuns(
      account,
      failed.flatMap(({ sample }) => sample.map(({ workflowRunId }) => workflowRunId)),
    );
    return failed.map(({ all, sample }) => {
      const counts = incidents.selectedBy(account, { runs: sample, deadLetters: [], lineages });
      return [all, new Set(counts.keys())] as const;
    });
  });
  return new Map((await Promise.all(found)).flat());
}

/** Returns runs as views. The last run of a policy is the same as in its status. */
export async function runViews(
  runs: readonly RunRecord[],
  { ledger, at }: { readonly ledger: LedgerReader; readonly at: number },
): Promise<RunView[]> {
  if (!runs.some(({ outcome }) => outcome === 'pending_approval')) return runs.map(runView);
  const pending = (await ledger.storedPlans(['pending'], at)).map((plan) => storedPlanView(plan));
  const last = await withDecisions(await ledger.lastRuns(), pending, { ledger, at });
  return runs.map((run) => runView(last.find(({ id }) => id === run.id) ?? run));
}

/** Returns the last runs as of now: one that was pending approval has the decision on its plan. */
async function withDecisions(
  runs: readonly RunRecord[],
  plans: readonly StoredPlanView[],
  { ledger, at }: { readonly ledger: Pick<LedgerReader, 'storedPlans'>; readonly at: number },
): Promise<readonly RunRecord[]> {
  const pending = new Set(plans.filter(({ state }) => state === 'pending').map(({ policy }) => policy));
  const isDecided = ({ outcome, policy }: RunRecord) => outcome === 'pending_approval' && !pending.has(policy);
  if (!runs.some(isDecided)) return runs;
  const decided = await ledger.storedPlans(['approved', 'rejected', 'replaced', 'expired', 'cancelled'], at);
  return runs.map((run) => {
    const [last] = decided
      .filter(({ plan, decidedAt = 0 }) => plan.policy === run.policy && decidedAt >= run.at)
      .toSorted((a, b) => (b.decidedAt ?? 0) - (a.decidedAt ?? 0));
    if (!isDecided(run) || last === undefined) return run;
    const why = last.reason === undefined ? '' : `: ${last.reason}`;
    const detail = `approval: plan ${last.plan.id} is ${last.state} by ${last.by ?? 'an operator'}${why}`;
    return { ...run, outcome: 'held', detail };
  });
}

function policyView(policy: PolicyStatus, runs: readonly RunRecord[]): PolicyView {
  const run = runs.find((candidate) => candidate.policy === policy.name && candidate.account === policy.account);
  if (run === undefined) return policy;
  const { policy: _policy, account: _account, ...lastRun } = runView(run);
  return { ...policy, lastRun };
}
