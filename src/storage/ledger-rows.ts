/** Converts rows of the ledger to domain types. */
import type { Proposal, Trigger } from '#foundation/domain/plan.ts';
import type { ActionRecord } from '#automate/ledger/intents.ts';
import type { RunRecord } from '#automate/ledger/reports.ts';
import { all, withoutNulls, type Nullable, type Value, type Work } from './database.ts';

/** Row whose JSON column is a text. */
type WithText<T, K extends keyof T> = Nullable<Omit<T, K>> & Readonly<Record<K, string>>;

/** Intents `i` with their newest outcome `o`, if any: the columns of `actionOf`. */
export const ACTIONS = `
  SELECT i.id, i.at, i.run_id AS "runId", i.epoch, i.proposal, o.outcome, o.at AS "outcomeAt", o.detail,
    (SELECT new_run_id FROM outcomes WHERE intent_id = i.id AND new_run_id IS NOT NULL LIMIT 1) AS "newRunId",
    (SELECT done FROM outcomes WHERE intent_id = i.id AND done IS NOT NULL ORDER BY id DESC LIMIT 1) AS done
  FROM intents i LEFT JOIN outcomes o ON o.id = (SELECT max(id) FROM outcomes WHERE intent_id = i.id)`;

type ActionRow = WithText<ActionRecord, 'proposal'>;

/** Returns the actions of a query of `ACTIONS`. */
export function* actionRows(sql: string, ...values: readonly Value[]): Work<readonly ActionRecord[]> {
  return (yield* all<ActionRow>(sql, ...values)).map(actionOf);
}

function actionOf({ proposal, ...row }: ActionRow): ActionRecord {
  return { ...withoutNulls<Omit<ActionRecord, 'proposal'>>(row), proposal: JSON.parse(proposal) as Proposal };
}

/** Columns of `runOf`. */
export const RUN_COLUMNS = `id, policy, account, at, cause AS "trigger", plan_id AS "planId", finished_at AS "finishedAt",
  outcome, matched, acted, backlog, detail`;

export type RunRow = WithText<RunRecord, 'trigger'>;

export function runOf({ trigger, ...row }: RunRow): RunRecord {
  return { ...withoutNulls<Omit<RunRecord, 'trigger'>>(row), trigger: JSON.parse(trigger) as Trigger };
}
