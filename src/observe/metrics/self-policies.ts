/** Gauges of the policies and of what the engine reads from its ledger: runs, approvals, caps, pauses, budgets. */
import type { EngineReadings } from '#foundation/domain/engine-readings.ts';
import type { AccountBudget, BudgetKnowledge } from '#foundation/domain/known-budget.ts';
import { RUN_OUTCOMES } from '#foundation/domain/plan.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { Families, Put } from './families.ts';
import type { StoredPart } from './self-part.ts';
import { flag, seconds } from './values.ts';

const BREAKERS = { closed: 0, 'half-open': 1, open: 2 } as const;

export function policyPart(
  families: Families,
  { configured, policies }: Pick<LedgerPartDeps, 'configured' | 'policies'>,
): StoredPart {
  /** Policies whose counters exist. */
  const known = new Set<string>();

  function createCounters(account: string, policy: string): void {
    const key = `${account}\0${policy}`;
    if (known.has(key)) return;
    known.add(key);
    for (const outcome of RUN_OUTCOMES) families.add('opsd_policy_runs_total', { account, policy, outcome }, 0);
    families.add('opsd_policy_evaluation_errors_total', { account, policy }, 0);
  }

  function fillPolicy(put: Put, status: PolicyStatus): void {
    const { account, name: policy, owner = '', mode, effectiveMode } = status;
    createCounters(account, policy);
    put('opsd_policy_mode_info', { account, policy, owner, mode, effective_mode: effectiveMode }, 1);
    put('opsd_policy_next_run_timestamp_seconds', { account, policy }, seconds(status.nextRunAt));
    if (status.held !== undefined) {
      const { guard, since } = status.held;
      put('opsd_policy_held_since_timestamp_seconds', { account, policy, guard }, since / 1_000);
    }
    for (const { group, size, breaker } of status.campaigns) {
      put('opsd_campaign_step_items', { account, policy, group }, size);
      put('opsd_breaker_state', { account, policy, group }, BREAKERS[breaker]);
    }
  }

  for (const { account, name } of configured) createCounters(account, name);
  return {
    source: 'policies',
    gauges: [
      'opsd_policy_mode_info',
      'opsd_policy_next_run_timestamp_seconds',
      'opsd_policy_held_since_timestamp_seconds',
      'opsd_campaign_step_items',
      'opsd_breaker_state',
    ],
    async read() {
      const statuses = await policies();
      return (put) => {
        for (const status of statuses) fillPolicy(put, status);
      };
    },
  };
}

interface LedgerPartDeps {
  readonly accounts: readonly { readonly name: string }[];
  /** Policies of the configuration. */
  readonly configured: readonly Pick<PolicyStatus, 'account' | 'name'>[];
  readonly policies: () => Promise<readonly PolicyStatus[]>;
  readonly engine: () => Promise<EngineReadings>;
  readonly budgets: () => Promise<ReadonlyMap<string, AccountBudget>>;
}

export function ledgerPart({ configured, engine, budgets }: Omit<LedgerPartDeps, 'policies'>): StoredPart {
  return {
    source: 'ledger',
    gauges: [
      'opsd_unknown_outcomes',
      'opsd_oldest_intent_timestamp_seconds',
      'opsd_pending_plans',
      'opsd_oldest_pending_plan_timestamp_seconds',
      'opsd_cap_remaining',
      'opsd_paused',
      'opsd_leader',
      'msgsvc_account_budget_dollars',
      'msgsvc_account_budget_asserted_timestamp_seconds',
    ],
    async read() {
      const readings = await engine();
      const ofAccounts = await budgets();
      return (put) => {
        // Samples of one label set add up, so that a policy without an approval shows 0.
        for (const { account, name: policy } of configured) put('opsd_pending_plans', { account, policy }, 0);
        fillEngine(put, readings);
        for (const [account, { known }] of ofAccounts) fillBudget(put, account, known);
      };
    },
  };
}

function fillEngine(put: Put, engine: EngineReadings): void {
  put('opsd_unknown_outcomes', {}, engine.unknownOutcomes);
  put('opsd_oldest_intent_timestamp_seconds', {}, seconds(engine.oldestIntentAt));
  for (const { account, policy, since } of engine.approvals) {
    put('opsd_pending_plans', { account, policy }, 1);
    put('opsd_oldest_pending_plan_timestamp_seconds', { account, policy }, since / 1_000);
  }
  for (const { scope, window, remaining } of engine.caps) put('opsd_cap_remaining', { scope, window }, remaining);
  for (const [scope, isPaused] of engine.paused) put('opsd_paused', { scope }, flag(isPaused));
  put('opsd_leader', {}, flag(engine.isLeader));
}

function fillBudget(put: Put, account: string, known: BudgetKnowledge | undefined): void {
  if (known === undefined) return;
  const labels = { account, origin: known.origin };
  put('msgsvc_account_budget_dollars', labels, known.knownUsd);
  put('msgsvc_account_budget_asserted_timestamp_seconds', labels, seconds(known.assertedAt));
}
