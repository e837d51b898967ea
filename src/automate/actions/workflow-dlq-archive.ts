/**
 * Archive of entries that a delete removes: the entry's complete row from the service, in its own file. Credentials are
 * redacted; bodies are kept. The file is on disk before the intent to delete.
 */
import { join } from 'node:path';
import type { MessageApi, ServiceClient, WholeWorkflowDlqEntry } from '#service/api.ts';
import { isStamp } from '#foundation/domain/lineage.ts';
import type { WorkflowDeleteProposal } from '#foundation/domain/plan.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { Clock } from '#foundation/platform/clock.ts';
import type { EventBus } from '#foundation/events/events.ts';
import { safeName, writeDurably } from './durable-file.ts';
import { errorText } from './failed-call.ts';
import { redactCredentials } from './redact-credentials.ts';

export interface ArchiveSettings {
  readonly dir: string;
  /** True keeps an entry in the DLQ if it cannot be archived. */
  readonly require: boolean;
}

/** Page limit. A run has one entry, or a few if a resume failed again. */
const MAX_PAGES = 20;
const PAGE_SIZE = 100;

/**
 * Archives an entry. Never rejects. An entry that is gone or has changed since the plan is never deleted. An entry that
 * cannot be read or written is deleted only if the archive is not required.
 *
 * @returns the reason why the entry must not be deleted
 */
export async function archiveEntry(
  client: ServiceClient | undefined,
  proposal: WorkflowDeleteProposal,
  options: { readonly archive: ArchiveSettings; readonly signal: AbortSignal },
  deps: { readonly clock: Clock; readonly events: EventBus },
): Promise<string | undefined> {
  const { archive, signal } = options;
  try {
    if (client?.message === undefined) throw new Error('the account has no message API');
    const found = await findEntry(client.message, proposal, signal);
    if (typeof found === 'string') return found;
    const changed = changeOf(found.entry, proposal);
    if (changed !== undefined) return `the entry has changed since it was planned: ${changed}`;
    await write(found.row, proposal, { dir: archive.dir, now: deps.clock.now() });
    return undefined;
  } catch (error) {
    if (signal.aborted) return 'the daemon is stopping; the entry is not archived yet';
    const reason = `cannot be archived: ${errorText(error)}`;
    if (archive.require) return reason;
    const { policy, account, dlqId } = proposal;
    deps.events.emit({ type: 'archive.failed', policy, account, dlqId, reason });
    return undefined;
  }
}

async function findEntry(
  api: MessageApi,
  proposal: WorkflowDeleteProposal,
  signal: AbortSignal,
): Promise<WholeWorkflowDlqEntry | string> {
  const { dlqId, workflowRunId } = proposal;
  let dropped = 0;
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await api.listWholeWorkflowDlq(
      { workflowRunId, count: PAGE_SIZE, ...(cursor !== undefined && { cursor }) },
      { signal },
    );
    const found = page.value.find(({ entry }) => entry.dlqId === dlqId);
    if (found !== undefined) return found;
    dropped += page.dropped;
    cursor = page.cursor;
    if (cursor === undefined || cursor === '') {
      if (dropped > 0) throw new Error(`${dropped} rows of its run could not be parsed`);
      return 'the entry is no longer in the DLQ';
    }
  }
  throw new Error(`it is not among the first ${MAX_PAGES} pages of its run`);
}

/** First difference between the entry and the plan; undefined if there is none. */
function changeOf(entry: WorkflowDlqEntry, proposal: WorkflowDeleteProposal): string | undefined {
  if (entry.workflowRunId !== proposal.workflowRunId) return 'another run';
  if (entry.workflowUrl !== proposal.workflowUrl) return 'another workflow';
  if (entry.createdAt !== proposal.failedAt) return 'it failed at another time';
  if (entry.responseStatus !== proposal.status) return 'another status';
  const labels = new Set(entry.labels.filter((label) => !isStamp(label)));
  const planned = new Set(proposal.labels);
  return labels.symmetricDifference(planned).size === 0 ? undefined : 'other labels';
}

async function write(
  row: WholeWorkflowDlqEntry['row'],
  proposal: WorkflowDeleteProposal,
  to: { readonly dir: string; readonly now: number },
): Promise<void> {
  const { policy, account, dlqId } = proposal;
  const archivedAt = new Date(to.now).toISOString();
  const path = join(to.dir, safeName(account), archivedAt.slice(0, 10), `${safeName(dlqId)}.json`);
  const content = { archivedAt, account, policy, dlqId, row: redactCredentials(row) };
  await writeDurably(path, `${JSON.stringify(content, undefined, 2)}\n`);
}
