/** Converts rows of the ledger to domain types. */
import type { Proposal, RunOutcome, Trigger } from '#foundation/domain/plan.ts';
import type { ActionOutcome, ActionRecord, Intent } from '#automate/ledger/intents.ts';
import type { RunRecord } from '#automate/ledger/reports.ts';

type Value = string | number | bigint | Uint8Array | null;
export type Row = Readonly<Record<string, Value>>;

/** Intents `i` with their newest outcome `o`, if any: the columns of `actionOf`. */
export const ACTIONS = `
  SELECT i.id, i.at, i.run_id, i.epoch, i.proposal, o.outcome, o.at AS outcome_at, o.detail,
    (SELECT new_run_id FROM outcomes WHERE intent_id = i.id AND new_run_id IS NOT NULL LIMIT 1) AS new_run_id,
    (SELECT done FROM outcomes WHERE intent_id = i.id AND done IS NOT NULL ORDER BY id DESC LIMIT 1) AS done
  FROM intents i LEFT JOIN outcomes o ON o.id = (SELECT max(id) FROM outcomes WHERE intent_id = i.id)`;

export function intentOf(row: Row): Intent {
  return {
    id: Number(row['id']),
    at: Number(row['at']),
    runId: Number(row['run_id']),
    epoch: Number(row['epoch']),
    proposal: JSON.parse(String(row['proposal'])) as Proposal,
  };
}

export function actionOf(row: Row): ActionRecord {
  return {
    ...intentOf(row),
    ...(row['outcome'] != null && {
      outcome: String(row['outcome']) as ActionOutcome,
      outcomeAt: Number(row['outcome_at']),
    }),
    ...(row['detail'] != null && { detail: String(row['detail']) }),
    ...(row['new_run_id'] != null && { newRunId: String(row['new_run_id']) }),
    ...(row['done'] != null && { done: Number(row['done']) }),
  };
}

/** Number in the store that is not known. */
export const UNKNOWN = -1;

/** Returns the numbers that are known. */
export function numbersOf({
  matched = UNKNOWN,
  backlog = UNKNOWN,
}: {
  readonly matched?: number | undefined;
  readonly backlog?: number | undefined;
}): { readonly matched?: number; readonly backlog?: number } {
  return { ...(matched !== UNKNOWN && { matched }), ...(backlog !== UNKNOWN && { backlog }) };
}

export function runOf(row: Row): RunRecord {
  return {
    id: Number(row['id']),
    policy: String(row['policy']),
    account: String(row['account']),
    at: Number(row['at']),
    trigger: JSON.parse(String(row['cause'])) as Trigger,
    ...(row['plan_id'] !== '' && { planId: String(row['plan_id']) }),
    ...(row['finished_at'] != null && { finishedAt: Number(row['finished_at']) }),
    ...(row['outcome'] != null && { outcome: String(row['outcome']) as RunOutcome }),
    acted: Number(row['acted']),
    ...numbersOf({ matched: Number(row['matched']), backlog: Number(row['backlog']) }),
    ...(row['detail'] != null && { detail: String(row['detail']) }),
  };
}
