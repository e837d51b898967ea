/**
 * What an action is: it describes itself before it acts, and tells what became of the one request it sent. A request
 * is made before anything is sent, and nothing is added afterwards.
 */
import type { DlqFilter, ResumeOverrides } from '../client/api.ts';

export type ActionRequest =
  | {
      readonly operation: 'resume-workflow-dlq';
      readonly account: string;
      readonly dlqIds: readonly [string];
      readonly overrides: ResumeOverrides;
    }
  | { readonly operation: 'delete-workflow-dlq'; readonly account: string; readonly dlqIds: readonly [string] }
  | { readonly operation: 'delete-dlq'; readonly account: string; readonly dlqIds: readonly [string] }
  | { readonly operation: 'delete-dlq'; readonly account: string; readonly filter: DlqFilter; readonly dlqIds?: never }
  | { readonly operation: 'update-budget'; readonly account: string; readonly dollars: number };

/** Entries that a request names, or may touch at most. */
export function asked(request: ActionRequest): number {
  if ('filter' in request) return request.filter.count;
  return 'dlqIds' in request && request.dlqIds !== undefined ? request.dlqIds.length : 1;
}

/**
 * What became of a request. `rejected` is proof of no effect; `unknown` is neither proof nor success, and must be
 * resolved by reading.
 */
export type ActResult =
  | {
      readonly outcome: 'acked';
      /** Entries that the service says it acted on. */
      readonly done: number;
      readonly newRunId?: string;
    }
  | { readonly outcome: 'rejected' | 'unknown'; readonly code?: string; readonly detail: string };

