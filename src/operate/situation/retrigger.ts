/** State of the new run of a retrigger, from the ledger, the log, and the workflow DLQ. */
import { counted } from '#foundation/domain/counted.ts';
import { shellWord } from '#foundation/domain/own-command.ts';
import { formatTime } from '#foundation/domain/time-text.ts';

/** `finished`: all messages are delivered, and no other one began. `not_started`: the service rejected it. */
export const RETRIGGER_STATES = ['running', 'finished', 'failed', 'unknown', 'not_started'] as const;

/** Milliseconds after the last delivery in which the next step of a run begins. */
const NEXT_STEP_MS = 300_000;

interface SentRetrigger {
  readonly dlqId: string;
  readonly workflowRunId: string;
  readonly workflowUrl: string;
  /** Absent while the request is in flight. */
  readonly outcome?: 'accepted' | 'rejected' | 'unknown';
}

/** The new run, from the log and the workflow DLQ. */
interface ReadRun {
  readonly dlqId?: string;
  readonly failedAt?: number;
  readonly messages: readonly { readonly isOpen: boolean; readonly outcome?: string; readonly endedAt?: number }[];
  /** True if not all messages were read. */
  readonly isCut?: boolean;
}

/** @param read the new run; undefined if it was not read; a text is the reason why it cannot be */
export function retriggerState(
  { dlqId, outcome, ...run }: SentRetrigger,
  read: ReadRun | string | undefined,
  now: number,
): { readonly state: (typeof RETRIGGER_STATES)[number]; readonly text: string } {
  if (outcome === 'rejected') return { state: 'not_started', text: 'The service rejected it: no run was started.' };
  if (outcome === undefined) return { state: 'unknown', text: 'The response of the service is pending.' };
  if (read === undefined || typeof read === 'string')
    return { state: 'unknown', text: read ?? 'The run was not read.' };
  const { messages, failedAt, dlqId: failed = run.workflowRunId, isCut } = read;
  if (failedAt !== undefined || messages.some((message) => message.outcome === 'failed'))
    return { state: 'failed', text: `The new run failed: \`opsd dlq show ${shellWord(failed)}\`.` };
  if (messages.length === 0) return { state: 'unknown', text: unseen(outcome, run) };
  if (messages.some(({ isOpen }) => isOpen)) return { state: 'running', text: 'A message of the new run is open.' };
  const ends = messages.map(({ endedAt, outcome: end }) => (end === 'delivered' ? endedAt : undefined));
  if (isCut === true || ends.includes(undefined))
    return { state: 'unknown', text: 'The log does not show that all messages of the new run were delivered.' };
  const quietAt = Math.max(...(ends as number[])) + NEXT_STEP_MS;
  const delivered = `The new run has ${counted(messages.length, 'message')} in the log, and none is open`;
  if (now < quietAt)
    return {
      state: 'running',
      text: `${delivered}. It has finished if no other one begins until ${formatTime(quietAt)}.`,
    };
  const next = `\`opsd dlq delete ${shellWord(dlqId)} --queue workflow --reason TEXT\` deletes this entry`;
  return { state: 'finished', text: `${delivered}: it has finished. ${next}.` };
}

function unseen(
  outcome: SentRetrigger['outcome'],
  { workflowRunId, workflowUrl }: Pick<SentRetrigger, 'workflowRunId' | 'workflowUrl'>,
): string {
  if (outcome === 'accepted') return 'The service accepted it. The log has no message of the new run.';
  const again = `\`opsd workflows trigger ${shellWord(workflowUrl)} --workflow-run-id ${workflowRunId} --body FILE\``;
  return `The response was lost, and the log has no message of the new run. Nothing is sent again. If this stays so for ten minutes, start the run with ${again}.`;
}
