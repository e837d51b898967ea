/**
 * Checks of requests that must never be sent, whatever their origin. They back up the types and the guards, directly
 * before the network: a mistake in earlier code becomes a rejection, not a deletion.
 */
import { filterFault } from '#foundation/domain/filter-value.ts';
import { isPrune, type ActionRequest, type BudgetRequest, type PruneRequest } from './action.ts';

const HOUR_MS = 3_600_000;
const MAX_COUNT = 100;
const BY_ID: ReadonlySet<string> = new Set(['resume-workflow-dlq', 'publish', 'delete-workflow-dlq', 'delete-dlq']);
const BUDGET = { min: 20, max: 10_000 };

/** @returns the error in a request; undefined if it may be sent */
export function impossible(request: ActionRequest, now: number): string | undefined {
  if (isPrune(request)) return impossiblePrune(request, now);
  if (request.operation === 'update-budget') return impossibleBudget(request);
  if (!BY_ID.has(request.operation)) return 'no action sends this operation';
  const { dlqIds, overrides, deduplicationId } = request as {
    readonly dlqIds: unknown;
    readonly overrides?: unknown;
    readonly deduplicationId?: unknown;
  };
  if (request.operation === 'resume-workflow-dlq' && typeof overrides !== 'object')
    return 'a resume must have overrides';
  if (request.operation === 'publish' && !/^opsd-[0-9a-f]{40}$/.test(String(deduplicationId)))
    return 'a publish must have an id that the daemon made from its dead letter';
  if (!Array.isArray(dlqIds) || dlqIds.length !== 1) return 'a request must have exactly one dlqId';
  const fault = filterFault(dlqIds[0]);
  return fault === undefined ? undefined : `the dlqId ${fault}`;
}

function impossiblePrune(request: PruneRequest, now: number): string | undefined {
  const { toDate, fromDate, count } = request.filter;
  if ('dlqIds' in request.filter) return 'a prune must not have dlqIds: with dlqIds, the service ignores every filter';
  if (!Number.isInteger(count) || count < 1 || count > MAX_COUNT) {
    return `the count of a prune must be an integer from 1 to ${MAX_COUNT}`;
  }
  if (!Number.isInteger(toDate)) return 'toDate of a prune must be in epoch milliseconds';
  if (toDate > now) return 'toDate of a prune is in the future';
  if (toDate > now - HOUR_MS) return 'toDate of a prune is within the last hour';
  const texts = Object.values(request.filter)
    .flat()
    .filter((value) => typeof value !== 'number');
  const fault = texts.map(filterFault).find((one) => one !== undefined);
  if (fault !== undefined) return `a filter of a prune ${fault}`;
  if (fromDate !== undefined && !(fromDate <= toDate)) return 'fromDate of a prune is after its toDate';
  return undefined;
}

function impossibleBudget({ dollars, aboveUsd }: BudgetRequest): string | undefined {
  if (!Number.isInteger(dollars) || dollars < BUDGET.min || dollars > BUDGET.max) {
    return `a budget must be whole dollars from ${BUDGET.min} to ${BUDGET.max}`;
  }
  // A value of 0 in a request means no limit, and a raise from no limit is impossible.
  if (!(aboveUsd > 0)) return 'the current budget is unknown';
  if (!(dollars > aboveUsd)) return `a raise to ${dollars} USD is not above the known budget of ${aboveUsd} USD`;
  return undefined;
}
