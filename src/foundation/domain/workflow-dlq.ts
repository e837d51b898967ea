/** Failed workflow run in the workflow DLQ (interface 2.4). The parser drops bodies and headers. */

export interface WorkflowDlqEntry {
  readonly dlqId: string;
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  /** Epoch milliseconds. */
  readonly workflowCreatedAt?: number;
  /** Epoch milliseconds when the run failed and entered the DLQ. */
  readonly createdAt: number;
  /** Unit of a time in this row. Absent if it is milliseconds, the unit of the service's dates. */
  readonly timesIn?: 'seconds' | 'microseconds' | 'nanoseconds';
  readonly url?: string;
  readonly method?: string;
  readonly maxRetries?: number;
  readonly callerIp?: string;
  /** Hash over workflow, method and body: the same for a run and its resumed run. Absent without a body. */
  readonly fingerprint?: string;
  /** Union of `label` and `labels`. */
  readonly labels: readonly string[];
  readonly flowControlKey?: string;
  /** `CALLBACK_…` value; absent if the workflow has no failure function. */
  readonly failureFunctionState?: string;
  /** Status of the last attempt; absent if there was no response. */
  readonly responseStatus?: number;
  /** First characters of the last response body, which contain its reason. Never used as a label. */
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
  /** Epoch milliseconds; absent if the service did not return it. */
  readonly workflowCreatedAt?: number;
}
