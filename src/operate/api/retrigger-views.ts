/** New runs of a failed run as the API and the pages show them. */
import type { Retrigger } from '#automate/ledger/operations.ts';
import type { RetriggerView } from '../contract/dead-letters.ts';
import { HttpError } from '../http/reply.ts';
import { retriggerState } from '../situation/retrigger.ts';
import type { ApiContext } from './api-deps.ts';
import { readMessage } from './message-detail.ts';

/** Reads each new run from the log, within the request budget. */
export async function retriggerViews(
  { deps, signal }: Pick<ApiContext, 'deps' | 'signal'>,
  account: string,
  retriggers: readonly Retrigger[],
): Promise<RetriggerView[]> {
  const views: RetriggerView[] = [];
  for (const retrigger of retriggers) {
    const { workflowRunId, at, by, reason, isEdited, outcome } = retrigger;
    const isSent = outcome === 'accepted' || outcome === 'unknown';
    const read = isSent ? await readRun(deps, account, workflowRunId, signal) : undefined;
    views.push({ workflowRunId, at, by, reason, isEdited, ...retriggerState(retrigger, read, deps.clock.now()) });
  }
  return views;
}

/** Returns a run of the log; a text if it cannot be read: the reason. */
export async function readRun(deps: ApiContext['deps'], account: string, id: string, signal: AbortSignal) {
  try {
    const found = await readMessage(deps, [account], id, signal);
    return found?.run ?? 'The log does not have the run.';
  } catch (error) {
    if (error instanceof HttpError) return error.message;
    throw error;
  }
}
