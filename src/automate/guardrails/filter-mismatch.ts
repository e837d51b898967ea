import type { Hold } from '#foundation/domain/hold.ts';
import { sharedLabel } from '#foundation/domain/labels.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { ReadFacts, SentFilter } from './guard.ts';

/**
 * Checks that every row meets every filter of the request. A row that does not means that the service ignored a filter,
 * so the listing has entries that the policy did not select. Nothing overrules this guard.
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
export function missedFilter(entry: WorkflowDlqEntry, filter: SentFilter): string | undefined {
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
