/**
 * Requests that must never be sent, whoever made them: the second line behind the types and the guards, right before
 * the wire. A mistake above ends here as a refusal, not as a deletion.
 */
import { isPrune, type ActionRequest, type BudgetRequest, type PruneRequest } from './action.ts';

const HOUR_MS = 3_600_000;
const MAX_COUNT = 100;
const BY_ID: ReadonlySet<string> = new Set(['resume-workflow-dlq', 'delete-workflow-dlq', 'delete-dlq']);
const BUDGET = { min: 20, max: 10_000 };

/** @returns what is wrong with a request; undefined when it may be sent */
export function impossible(request: ActionRequest, now: number): string | undefined {
  if (isPrune(request)) return impossiblePrune(request, now);
  if (request.operation === 'update-budget') return impossibleBudget(request);
  if (!BY_ID.has(request.operation)) return 'no action sends this operation';
  const { dlqIds, overrides } = request as { readonly dlqIds: unknown; readonly overrides?: unknown };
  if (request.operation === 'resume-workflow-dlq' && typeof overrides !== 'object') return 'a resume names overrides';
  if (!Array.isArray(dlqIds) || dlqIds.length !== 1) return 'a request names exactly one dlqId';
  // Blank text may be trimmed to nothing on the way, and nothing means everything.
  if (typeof dlqIds[0] !== 'string' || isBlank(dlqIds[0])) return 'the dlqId is empty';
  return undefined;
}

function impossiblePrune(request: PruneRequest, now: number): string | undefined {
  const { toDate, fromDate, count } = request.filter;
  if ('dlqIds' in request.filter) return 'a prune takes no dlqIds: beside them the service ignores every filter';
  if (!Number.isInteger(count) || count < 1 || count > MAX_COUNT) {
    return `the count of a prune is a whole number from 1 to ${MAX_COUNT}`;
  }
  if (!Number.isInteger(toDate)) return 'a prune needs toDate in epoch milliseconds';
  if (toDate > now) return 'toDate of a prune is in the future';
  if (toDate > now - HOUR_MS) return 'toDate of a prune is within the last hour';
  if (Object.values(request.filter).flat().some(isBlank)) return 'a filter of a prune is empty, which may mean none';
  if (fromDate !== undefined && !(fromDate <= toDate)) return 'fromDate of a prune is after its toDate';
  return undefined;
}

function isBlank(value: unknown): boolean {
  return typeof value === 'string' && value.trim() === '';
}

function impossibleBudget({ dollars, aboveUsd }: BudgetRequest): string | undefined {
  if (!Number.isInteger(dollars) || dollars < BUDGET.min || dollars > BUDGET.max) {
    return `a budget is whole dollars from ${BUDGET.min} to ${BUDGET.max}`;
  }
  // 0 on the wire is no limit, and a limit is not above that.
  if (!(aboveUsd > 0)) return 'the budget that it would raise is not known';
  if (!(dollars > aboveUsd)) return `a raise to ${dollars} USD is not above the known budget of ${aboveUsd} USD`;
  return undefined;
}
