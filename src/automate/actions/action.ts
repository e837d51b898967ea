/**
 * What an action is: it describes itself before it acts, and tells what became of the one request it sent. A request
 * is made before anything is sent, and nothing is added afterwards.
 */
import type { DlqFilter, ResumeOverrides } from '#service/api.ts';

export interface ResumeRequest {
  readonly operation: 'resume-workflow-dlq';
  readonly account: string;
  readonly dlqIds: readonly [string];
  readonly overrides: ResumeOverrides;
}

export interface WorkflowDeleteRequest {
  readonly operation: 'delete-workflow-dlq';
  readonly account: string;
  readonly dlqIds: readonly [string];
}

export interface MessageDeleteRequest {
  readonly operation: 'delete-dlq';
  readonly account: string;
  readonly dlqIds: readonly [string];
}

export interface PruneRequest {
  readonly operation: 'delete-dlq';
  readonly account: string;
  readonly filter: DlqFilter;
  readonly dlqIds?: never;
}

export interface BudgetRequest {
  readonly operation: 'update-budget';
  readonly account: string;
  /** Whole dollars a month. */
  readonly dollars: number;
  /** The known budget: what is sent is above it. It does not travel. */
  readonly aboveUsd: number;
}

export type ActionRequest = ResumeRequest | WorkflowDeleteRequest | MessageDeleteRequest | PruneRequest | BudgetRequest;

/** Entries that a request names, or may touch at most. */
export function asked(request: ActionRequest): number {
  if (isPrune(request)) return request.filter.count;
  return request.operation === 'update-budget' ? 1 : request.dlqIds.length;
}

export function isPrune(request: ActionRequest): request is PruneRequest {
  return request.operation === 'delete-dlq' && 'filter' in request;
}

/**
 * What became of a request. `rejected` is proof of no effect; `unknown` is neither proof nor success, and must be
 * resolved by reading.
 */
export type ActResult =
  | {
      readonly outcome: 'accepted';
      /** Entries that the service says it acted on: also when that is more than was asked. */
      readonly done: number;
      readonly newRunId?: string;
    }
  | { readonly outcome: 'rejected' | 'unknown'; readonly code?: string; readonly detail: string };
