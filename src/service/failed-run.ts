/** Failed workflow run in the service: its entry in the workflow DLQ, and its messages in the log. */
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import { serviceErrorCode } from '#foundation/domain/service-error.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { LogQuery, MessageApi, Page } from './api.ts';

const PAGE_SIZE = 100;
/** Page limit, for a listing that never ends. */
const MOST_PAGES = 200;

export interface FailedRun {
  readonly workflowRunId: string;
  readonly dlqId: string;
  /** Messages to the workflow's URL with the run's id in the log, oldest first. */
  readonly messageIds: readonly string[];
}

/** Returns the failed run with this run id or dlqId; undefined when the workflow DLQ has none. */
export async function findFailedRun(api: MessageApi, id: string, signal: AbortSignal): Promise<FailedRun | undefined> {
  const entry = (await failedRunById(api, id, signal)) ?? (await inPages(api, id, signal));
  if (entry === undefined) return undefined;
  const { workflowRunId, dlqId, workflowUrl, workflowCreatedAt } = entry;
  const begun = new Map<string, number>();
  const from = workflowCreatedAt === undefined ? {} : { fromDate: workflowCreatedAt };
  for await (const row of entriesOfRun(api, { url: workflowUrl, ...from }, workflowRunId, signal)) {
    begun.set(row.messageId, Math.min(row.time, begun.get(row.messageId) ?? Infinity));
  }
  const messageIds = [...begun].toSorted(([, a], [, b]) => a - b).map(([messageId]) => messageId);
  return { workflowRunId, dlqId, messageIds };
}

/** Log entries of a run. The log has no filter for runs, so `query` names the workflow's URL. */
export async function* entriesOfRun(
  api: Pick<MessageApi, 'listLogs'>,
  query: LogQuery & { readonly url: string },
  workflowRunId: string,
  signal: AbortSignal,
): AsyncGenerator<LogEntry> {
  for await (const row of rowsOf((page) => api.listLogs({ ...query, ...page }, { signal }))) {
    if (row.workflowRunId === workflowRunId) yield row;
  }
}

/** Returns the entry of a run; undefined if the workflow DLQ has none, or the service does not support the filter. */
export async function failedRunById(
  api: Pick<MessageApi, 'listWorkflowDlq'>,
  id: string,
  signal: AbortSignal,
): Promise<WorkflowDlqEntry | undefined> {
  try {
    const { value } = await api.listWorkflowDlq({ workflowRunId: id, count: PAGE_SIZE }, { signal });
    return value.find(({ workflowRunId }) => workflowRunId === id);
  } catch (error) {
    if (serviceErrorCode(error) === 'client_error') return undefined;
    throw error;
  }
}

async function inPages(api: MessageApi, id: string, signal: AbortSignal): Promise<WorkflowDlqEntry | undefined> {
  for await (const entry of rowsOf((page) => api.listWorkflowDlq(page, { signal }))) {
    if (entry.dlqId === id || entry.workflowRunId === id) return entry;
  }
  return undefined;
}

async function* rowsOf<T>(
  read: (page: { readonly count: number; readonly cursor?: string }) => Promise<Page<T>>,
): AsyncGenerator<T> {
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer: Page<T> = await read({ count: PAGE_SIZE, cursor });
    yield* answer.value;
    cursor = answer.cursor;
    if (cursor === undefined) return;
  }
  throw new Error(`it has more than ${MOST_PAGES} pages`);
}
