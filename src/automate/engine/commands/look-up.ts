/** Lookup of an id: the entry, run or message that it names, and the actions on it. */
import type { DeadLetter } from '#foundation/domain/dead-letter.ts';
import type { WorkflowDlqEntry } from '#foundation/domain/workflow-dlq.ts';
import type { ActionRecord } from '../../ledger/intents.ts';
import type { Refusal, Subject } from '../../ledger/commands.ts';
import type { EngineDeps } from '../facts/engine-deps.ts';

/** Maximum number of dead letters to search. */
const MOST_DEAD_LETTERS = 10_000;

export type Found =
  | { readonly subject: Subject; readonly entry: WorkflowDlqEntry; readonly deadLetter?: never }
  | { readonly subject: Subject; readonly deadLetter: DeadLetter; readonly entry?: never }
  | { readonly subject: Subject; readonly entry?: never; readonly deadLetter?: never };

type LookUpDeps = Pick<EngineDeps, 'actions' | 'board' | 'ledger'>;

/** Finds an id in memory first, then by reading the service; undefined if it is unknown. */
export async function lookUp(id: string, deps: LookUpDeps, signal: AbortSignal): Promise<Found | Refusal | undefined> {
  const { accounts } = deps.actions;
  for (const account of accounts) {
    const known =
      named(id, account, deps.board.latest(account, 'workflowDlq')?.rows ?? []) ??
      (await deadLetterOf(id, account, deps));
    if (known !== undefined) return known;
  }
  const unread: string[] = [];
  for (const account of accounts) {
    const listing = await deps.actions.list(account, {}, signal);
    signal.throwIfAborted();
    if (listing.problem !== undefined) unread.push(`the workflow DLQ of ${account}: ${listing.problem}`);
    const listed = named(id, account, listing.entries);
    if (listed !== undefined) return listed;
    const message = await deps.actions.findMessage(account, id, signal);
    signal.throwIfAborted();
    if (typeof message === 'string') unread.push(`the message log of ${account}: ${message}`);
    if (typeof message !== 'object') continue;
    const { workflowRunId } = message;
    const run = workflowRunId === undefined ? undefined : named(workflowRunId, account, listing.entries);
    if (run !== undefined) return { ...run, subject: { ...run.subject, messageId: id } };
    return { subject: { account, in: 'log', messageId: id, workflowRunId } };
  }
  if (unread.length === 0) return undefined;
  const message = `The id ${id.slice(0, 200)} was not found, but some reads failed: ${unread.join('; ')}.`;
  return { ok: false, code: 'unread', message };
}

/** Newest entry of a run, or the entry with the id. */
function named(id: string, account: string, entries: readonly WorkflowDlqEntry[]): Found | undefined {
  const found = entries.filter(({ dlqId, workflowRunId }) => dlqId === id || workflowRunId === id);
  const entry = found.reduce<WorkflowDlqEntry | undefined>(
    (a, b) => (a && a.createdAt >= b.createdAt ? a : b),
    undefined,
  );
  if (entry === undefined) return undefined;
  const { dlqId, workflowRunId } = entry;
  return { subject: { account, in: 'workflow-dlq', dlqId, workflowRunId }, entry };
}

async function deadLetterOf(id: string, account: string, { ledger }: LookUpDeps): Promise<Found | undefined> {
  const deadLetters = await ledger.deadLetters(account, MOST_DEAD_LETTERS);
  const deadLetter = deadLetters.find(({ dlqId, messageId }) => dlqId === id || messageId === id);
  if (deadLetter === undefined) return undefined;
  const { dlqId, messageId } = deadLetter;
  return { subject: { account, in: 'message-dlq', dlqId, messageId }, deadLetter };
}

/** Returns the actions on an object under all its ids, newest first. */
export async function actionsOn(
  id: string,
  subject: Subject | undefined,
  { ledger }: LookUpDeps,
): Promise<readonly ActionRecord[]> {
  const { account, dlqId, workflowRunId, messageId } = subject ?? {};
  const ids = [id, dlqId, workflowRunId, messageId].filter((one) => one !== undefined);
  return ledger.actionsOn(account, ids);
}
