/** Guards of a reading: whether a listing can be trusted, and whether the expression works on its entries. */
import { clockFault } from '#foundation/domain/clock-skew.ts';
import type { Hold } from '#foundation/domain/hold.ts';
import { sharedLabel } from '#foundation/domain/labels.ts';
import type { WorkflowDlqSelection } from '#foundation/domain/plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { ReadFacts } from './guard.ts';

/**
 * Requires all pages, at most 2,000, without an error or a repeated cursor. Remedy: check the account's errors. If
 * there are too many pages, narrow `select`.
 */
export function incompleteRead({ complete, problem }: ReadFacts): Hold | undefined {
  if (complete) return undefined;
  return {
    measured: `the listing is incomplete: ${problem ?? 'unknown reason'}`,
    needed: 'every page must be read',
    remedy: 'check the errors of the account',
  };
}

/**
 * Requires that every row meets every filter of the request: otherwise the service ignored a filter. Never overridden.
 * Remedy: report it to the provider, and remove the filter from `select`.
 */
export function filterMismatch({ entries, filter }: ReadFacts): Hold | undefined {
  for (const entry of entries) {
    const ignored = missedFilter(entry, filter);
    if (ignored === undefined) continue;
    return {
      measured: `the service ignored the filter ${ignored}: it listed ${entry.dlqId || 'an entry without an id'}`,
      needed: 'every row must match the filters',
      remedy: 'report it to the provider, and remove the filter from `select`',
    };
  }
  return undefined;
}

/** First filter that an entry does not meet; undefined when it meets all. */
export function missedFilter(entry: WorkflowDlqEntry, filter: WorkflowDlqSelection): string | undefined {
  if (filter.label !== undefined && sharedLabel(entry.labels, filter.label) === undefined) return 'label';
  if (missed(filter.workflowUrl, entry.workflowUrl)) return 'workflowUrl';
  if (filter.workflowRunId !== undefined && filter.workflowRunId !== entry.workflowRunId) return 'workflowRunId';
  if (missed(filter.flowControlKey, entry.flowControlKey)) return 'flowControlKey';
  if (missed(filter.failureFunctionState, entry.failureFunctionState)) return 'failureFunctionState';
  if (missed(filter.callerIp, entry.callerIp)) return 'callerIp';
  // The service compares one of an entry's two times, and which one is unknown: either may meet the filter.
  const times = [entry.createdAt, entry.workflowCreatedAt].filter((time) => time !== undefined);
  const { fromDate = -Infinity, toDate = Infinity } = filter;
  if (!times.some((time) => time >= fromDate)) return 'fromDate';
  if (!times.some((time) => time <= toDate)) return 'toDate';
  return undefined;
}

function missed(wanted: readonly string[] | undefined, value: string | undefined): boolean {
  return wanted !== undefined && (value === undefined || !wanted.includes(value));
}

const EARLIEST = Date.UTC(2015, 0, 1);
const DAY_MS = 86_400_000;

/**
 * Requires times in milliseconds between 2015 and tomorrow, all ids, and a clock that differs from the service's by at
 * most 60 s. Remedy: correct the clock; otherwise report the data to the provider.
 */
export function implausibleData(facts: ReadFacts): Hold | undefined {
  const measured = implausible(facts);
  if (measured === undefined) return undefined;
  const needed = 'every listed entry must be plausible, and the clocks must agree';
  return { measured, needed, remedy: 'correct the clock; otherwise report the response to the provider' };
}

function implausible({ entries, dropped, clockSkewMs, now }: ReadFacts): string | undefined {
  const fault = clockSkewMs === undefined ? undefined : clockFault(clockSkewMs);
  if (fault !== undefined) return fault;
  if (dropped > 0) return `${dropped} listed ${dropped === 1 ? 'entry' : 'entries'} could not be parsed`;
  for (const entry of entries) {
    const missing = MANDATORY.find((field) => entry[field] === '');
    if (missing !== undefined) return `the listing has an entry without ${missing}`;
    // The magnitude shows the unit, so the times could be converted. But an unexpected unit means an unexpected
    // service.
    if (entry.timesIn !== undefined) return `the times of ${entry.dlqId} are in ${entry.timesIn}, not milliseconds`;
    for (const field of TIMES) {
      const time = entry[field];
      if (time !== undefined && !(time >= EARLIEST && time <= now + DAY_MS)) {
        return `${field} of ${entry.dlqId} is out of range: ${time}`;
      }
    }
  }
  return undefined;
}

const MANDATORY = ['dlqId', 'workflowRunId', 'workflowUrl'] as const satisfies readonly (keyof WorkflowDlqEntry)[];
const TIMES = ['createdAt', 'workflowCreatedAt'] as const satisfies readonly (keyof WorkflowDlqEntry)[];

const TOLERATED = 0.05;

/**
 * Aborts a run whose expression fails on more than 5 % of the entries: it was not written for them. An entry is denied
 * if the expression is false or fails. Remedy: test optional fields with `has()`.
 */
export function where({ entries, errors }: { readonly entries: number; readonly errors: number }): Hold | undefined {
  if (errors <= entries * TOLERATED) return undefined;
  return {
    measured: `the expression failed on ${errors} of ${entries} entries`,
    needed: 'at most 5 % is tolerated',
    remedy: 'test optional fields with `has()`',
  };
}
