/**
 * Actions: each one describes its request first, sends it once, and returns the outcome. The request is complete before
 * anything is sent, and nothing is added afterwards.
 */
import type { BodyEdit } from '#foundation/domain/carried-message.ts';
import type { DlqFilter, NonEmpty, ResumeOverrides } from '#service/api.ts';

export interface ResumeRequest {
  readonly operation: 'resume-workflow-dlq';
  readonly account: string;
  readonly dlqIds: readonly [string];
  readonly overrides: ResumeOverrides;
}

interface DeleteRequest<Operation extends 'delete-workflow-dlq' | 'delete-dlq'> {
  readonly operation: Operation;
  readonly account: string;
  readonly dlqIds: readonly [string];
}

export interface PruneRequest {
  readonly operation: 'delete-dlq';
  readonly account: string;
  readonly filter: DlqFilter;
  readonly dlqIds?: never;
}

/** Publishes the kept body of a dead letter. The body is read when it is sent. */
export interface RepublishRequest {
  readonly operation: 'publish';
  readonly account: string;
  readonly dlqIds: readonly [string];
  readonly edit?: BodyEdit;
  readonly labels: NonEmpty<string>;
  readonly retries: number;
  /** The same for each repetition of the action: the service ignores all but the first within ten minutes. */
  readonly deduplicationId: string;
}

export interface BudgetRequest {
  readonly operation: 'update-budget';
  readonly account: string;
  /** Whole dollars a month. */
  readonly dollars: number;
  /** Known budget. The new budget must be above it. This value is not sent. */
  readonly aboveUsd: number;
}

export type ActionRequest =
  | ResumeRequest
  | RepublishRequest
  | DeleteRequest<'delete-workflow-dlq'>
  | DeleteRequest<'delete-dlq'>
  | PruneRequest
  | BudgetRequest;

/** Number of entries that a request names, or the most that it may touch. */
export function asked(request: ActionRequest): number {
  if (isPrune(request)) return request.filter.count;
  return request.operation === 'update-budget' ? 1 : request.dlqIds.length;
}

export function isPrune(request: ActionRequest): request is PruneRequest {
  return request.operation === 'delete-dlq' && 'filter' in request;
}

/**
 * Result of a request. `rejected` proves that it had no effect. `unknown` proves nothing, and later reads must resolve
 * it.
 */
export type ActResult =
  | {
      readonly outcome: 'accepted';
      /** Number of entries that the service says it acted on, even if that is more than the request named. */
      readonly done: number;
      readonly newRunId?: string;
    }
  | { readonly outcome: 'rejected' | 'unknown'; readonly code?: string; readonly detail: string };
