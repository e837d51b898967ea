/**
 * Gauges whose facts are in the store: policies, and what the engine reads from its ledger (runs, approvals, caps,
 * pauses, budgets). They are read after a change and on a schedule, never by a scrape.
 */
import { BODY_LACKS } from '#foundation/domain/dead-letter.ts';
import type { EngineReadings } from '#foundation/domain/engine-readings.ts';
import { RUN_OUTCOMES } from '#foundation/domain/plan.ts';
import type { PolicyStatus } from '#foundation/domain/policy-status.ts';
import type { OpsEvent } from '#foundation/events/events.ts';
import type { PartDeps } from './daemon-parts.ts';
import type { Families, Put } from './families.ts';
import type { GaugeFacts } from './sources.ts';
import { flagValue, seconds } from './values.ts';

export interface StoredParts extends Disposable {
  /** Reads the facts in the store again, for the next scrapes. Calls at the same time share a reading. */
  read(): Promise<void>;
}

/** Events after which the store is read again. Windows and expiries change without events. */
const CHANGES: ReadonlySet<OpsEvent['type']> = new Set([
  'policy.run',
  'action.outcome',
  'campaign.changed',
  'engine.paused',
  'engine.unpaused',
  'engine.recovered',
  'notification',
]);

export function createStoredParts(deps: PartDeps): StoredParts {
  const { families, events, facts } = deps;
  let present: () => GaugeFacts;
  const [fillPolicies, fillLedger] = [policyFiller(deps), ledgerFiller(deps)];
  const replacePolicies = families.part('policies', (put) => fillPolicies(put, present()));
  const replaceLedger = families.part('ledger', (put) => fillLedger(put, present()));
  let isOutdated = false;
  let reading: Promise<void> | undefined;

  /** Reads until nothing has changed during the last reading. */
  async function readWhileOutdated(): Promise<void> {
    do {
      // The caller may be in the middle of a change.
      await Promise.resolve();
      isOutdated = false;
      present = await facts().then(
        (found) => () => found,
        (error: unknown) => () => {
          throw error;
        },
      );
      replacePolicies();
      replaceLedger();
    } while (isOutdated);
    reading = undefined;
  }

  async function read(): Promise<void> {
    isOutdated = true;
    reading ??= readWhileOutdated();
    return reading;
  }

  const subscription = events.subscribe(({ type }) => {
    if (CHANGES.has(type)) void read();
  });
  return { read, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}

type Filler = (put: Put, facts: GaugeFacts) => void;

const BREAKERS = { closed: 0, 'half-open': 1, open: 2 } as const;

function policyFiller({ families, configuredPolicies }: PartDeps): Filler {
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

  for (const { account, name } of configuredPolicies) createCounters(account, name);
  return (put, { policies }) => policies.forEach((status) => fillPolicy(put, status));
}

function ledgerFiller({ families, configuredPolicies }: PartDeps): Filler {
  return (put, { engine, budgets, bodyBytes }) => {
    // Samples of one label set add up, so that a policy without an approval shows 0.
    for (const { account, name: policy } of configuredPolicies) put('opsd_pending_plans', { account, policy }, 0);
    fillEngine(put, engine);
    for (const [account, bytes] of bodyBytes) {
      createBodyCounters(account, families);
      put('opsd_dead_letter_bodies_bytes', { account }, bytes);
    }
    for (const [account, { known }] of budgets) {
      if (known === undefined) continue;
      const labels = { account, origin: known.origin };
      put('msgsvc_account_budget_dollars', labels, known.knownUsd);
      put('msgsvc_account_budget_asserted_timestamp_seconds', labels, seconds(known.assertedAt));
    }
  };
}

/** The counters exist before the first event. */
function createBodyCounters(account: string, families: Families): void {
  for (const reason of BODY_LACKS) {
    if (reason !== 'total') families.add('opsd_dead_letter_bodies_not_kept_total', { account, reason }, 0);
  }
  for (const reason of ['expired', 'total']) {
    families.add('opsd_dead_letter_bodies_dropped_total', { account, reason }, 0);
  }
}

/** Series of an account: each version is one. */
const MOST_DEPLOYS = 20;

function fillEngine(put: Put, engine: EngineReadings): void {
  put('opsd_unknown_outcomes', {}, engine.unknownOutcomes);
  put('opsd_oldest_intent_timestamp_seconds', {}, seconds(engine.oldestIntentAt));
  for (const { account, policy, since } of engine.approvals) {
    put('opsd_pending_plans', { account, policy }, 1);
    put('opsd_oldest_pending_plan_timestamp_seconds', { account, policy }, since / 1_000);
  }
  for (const deploys of Map.groupBy(engine.deploys, ({ account }) => account).values()) {
    for (const { account, of, version, at } of deploys.slice(0, MOST_DEPLOYS)) {
      put('opsd_deploy_timestamp_seconds', { account, of: of.join(' '), version }, at / 1_000);
    }
  }
  for (const { scope, window, remaining } of engine.caps) put('opsd_cap_remaining', { scope, window }, remaining);
  for (const [scope, isPaused] of engine.paused) put('opsd_paused', { scope }, flagValue(isPaused));
  put('opsd_leader', {}, flagValue(engine.isLeader));
}
