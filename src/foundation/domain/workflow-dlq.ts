/** A failed workflow run held in the workflow DLQ (interface 2.4). Bodies and headers stay at the parser. */

export interface WorkflowDlqEntry {
  readonly dlqId: string;
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  /** Epoch milliseconds. */
  readonly workflowCreatedAt?: number;
  /** Epoch milliseconds: when the run failed and entered the DLQ. */
  readonly createdAt: number;
  /** Unit in which the service wrote a time of this row; absent where it is that of its dates, milliseconds. */
  readonly timesIn?: 'seconds' | 'microseconds' | 'nanoseconds';
  readonly url?: string;
  readonly method?: string;
  readonly maxRetries?: number;
  readonly callerIp?: string;
  /** A hash over workflow, method and body: the same for a run and what a resume made of it. Absent without a body. */
  readonly fingerprint?: string;
  /** Union of `label` and `labels`. */
  readonly labels: readonly string[];
  readonly flowControlKey?: string;
  /** A `CALLBACK_…` value, or absent when the workflow has no failure function. */
  readonly failureFunctionState?: string;
  /** Status of the last attempt; absent when there was no answer. */
  readonly responseStatus?: number;
  /** The first characters of the last answer's body: its reason, never shown as a label. */
  readonly responseText?: string;
}

/** States of a workflow's failure function. */
export const FAILURE_FUNCTION_STATES = [
  'CALLBACK_INPROGRESS',
  'CALLBACK_SUCCESS',
  'CALLBACK_FAIL',
  'CALLBACK_CANCELED',
] as const;

export interface WorkflowRun {
  readonly workflowRunId: string;
  /** Epoch milliseconds; absent when the service did not say. */
  readonly workflowCreatedAt?: number;
}
