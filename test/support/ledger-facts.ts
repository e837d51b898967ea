/** Proposals and plans for tests of the ledger. */
import type { BudgetProposal, IdentifiedPlan, PruneProposal, ResumeProposal } from '#foundation/domain/plan.ts';
import type { CapLimit } from '#automate/ledger/intents.ts';
import type { Ledger } from '#automate/ledger/ledger.ts';

export const NO_CAPS: readonly CapLimit[] = [];

const ABOUT = { account: 'production', group: '', items: 1 } as const;

export function resumeOf(dlqId: string, change: Partial<ResumeProposal> = {}): ResumeProposal {
  return {
    ...ABOUT,
    policy: 'resume-billing',
    action: 'workflow-dlq.resume',
    target: dlqId,
    group: 'https://app.example.com/invoice',
    dlqId,
    workflowRunId: `wfr_${dlqId}`,
    workflowUrl: 'https://app.example.com/invoice',
    lineage: `lin-${dlqId}`,
    attempt: 1,
    failedAt: 1_000,
    labels: ['billing'],
    cause: 'transient',
    status: 503,
    ...change,
  };
}

export function pageOf(target: string, change: Partial<PruneProposal> = {}): PruneProposal {
  return {
    ...ABOUT,
    policy: 'prune',
    action: 'message-dlq.prune',
    target,
    items: 100,
    page: 1,
    filter: { toDate: 1_000 },
    ...change,
  };
}

export function raiseTo(toUsd: number, change: Partial<BudgetProposal> = {}): BudgetProposal {
  return {
    ...ABOUT,
    policy: 'raise-budget',
    action: 'budget.raise',
    target: `budget/${toUsd}/1`,
    fromUsd: 100,
    toUsd,
    ...change,
  };
}

export function planOf(change: Partial<IdentifiedPlan> = {}): IdentifiedPlan {
  return {
    id: '9f3c2a',
    hash: '9f3c2a'.padEnd(64, '0'),
    policy: 'resume-billing',
    account: 'production',
    action: 'workflow-dlq.resume',
    source: 'policies/billing.yaml:3',
    at: 1,
    trigger: { kind: 'schedule' },
    state: 'changes',
    mode: 'enforce',
    effectiveMode: 'enforce',
    read: { pages: 1, entries: 1, complete: true, filterChecked: 1 },
    checks: [],
    matched: 1,
    chosen: [],
    backlog: 0,
    skipped: [],
    evaluationErrors: 0,
    campaigns: [],
    caps: [],
    notes: [],
    ...change,
  };
}

/** @returns the id of a new intent for `dlqId` */
export async function intentFor(
  ledger: Ledger,
  dlqId: string,
  change: Partial<ResumeProposal> = {},
  at = 1_000,
): Promise<number> {
  const run = await ledger.beginRun(planOf(), at);
  const reservation = await ledger.reserve(run, resumeOf(dlqId, change), at, NO_CAPS);
  if (!reservation.ok) throw new Error(`${reservation.guard}: ${reservation.reason}`);
  return reservation.intent.id;
}
