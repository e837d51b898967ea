/** Messages that a policy cannot publish again, and what an operator must know of the others. */
import { bareUrl } from '#foundation/domain/dead-letter.ts';
import type { LogEntry } from '#foundation/domain/log-entry.ts';
import type { RepublishPolicy } from '../../policies/policy.ts';
import type { EngineParts } from '../guard/engine-parts.ts';
import type { BodyStates } from '../../ledger/kept-bodies.ts';
import type { MessageEntry } from './dead-letters.ts';
import type { PlanDraft } from './plan-draft.ts';

/** Schedules whose log one decision reads. */
const MOST_SCHEDULES = 20;

/** Returns a function that says why an entry cannot be published again; undefined if it can. */
export async function unpublishableOf(
  policy: RepublishPolicy,
  entries: readonly MessageEntry[],
  { bodies, draft }: { readonly bodies: BodyStates; readonly draft: PlanDraft },
  deps: EngineParts,
): Promise<(entry: MessageEntry) => string | undefined> {
  const { edit, notBefore = -Infinity } = policy.action;
  if (edit !== undefined) {
    const headers = edit.headers.length === 0 ? '' : `; changed headers: ${edit.headers.join(', ')}`;
    draft.notes.push(`The message is edited: ${edit.size} bytes, SHA-256 ${edit.sha256}${headers}.`);
  }
  noteLeft(policy, entries, draft, deps);
  const repeated = await repeatedSchedules(policy, entries, draft.context.signal, deps);
  return ({ dlqId, deadLetter }) => {
    const { learnedAt, createdAt = learnedAt, scheduleId, url } = deadLetter;
    const body = bodies.get(dlqId);
    if (body === undefined || 'reason' in body) return body?.reason ?? 'no body is kept';
    if (url === undefined) return 'its destination is unknown';
    if (createdAt < notBefore) return 'created before action.notBefore';
    return scheduleId && repeated(scheduleId, createdAt);
  };
}

/** Notes the messages whose destination is no longer in its URL Group, as far as the groups are known. */
function noteLeft(
  { account }: RepublishPolicy,
  entries: readonly MessageEntry[],
  draft: PlanDraft,
  { board }: EngineParts,
): void {
  const groups = board.latest(account, 'urlGroups')?.rows;
  if (groups === undefined) return;
  const left = entries.filter(({ deadLetter: { topicName, url } }) => {
    if (topicName === undefined || url === undefined) return false;
    const group = groups.find(({ name }) => name === topicName);
    return group?.endpoints.some((endpoint) => bareUrl(endpoint.url) === url) !== true;
  });
  if (left.length === 0) return;
  draft.notes.push(`Warning: ${left.length} of these messages go to a destination that is no longer in its URL Group.`);
}

/** Returns why a message of a schedule is not needed any more: a later one of the schedule was delivered. */
async function repeatedSchedules(
  { account, action }: RepublishPolicy,
  entries: readonly MessageEntry[],
  signal: AbortSignal,
  { actions }: EngineParts,
): Promise<(scheduleId: string, createdAt: number) => string | undefined> {
  if (action.evenIfRepeated) return () => undefined;
  const since = new Map<string, number>();
  for (const { deadLetter } of entries) {
    const { scheduleId, createdAt = deadLetter.learnedAt } = deadLetter;
    if (scheduleId !== undefined) since.set(scheduleId, Math.min(createdAt, since.get(scheduleId) ?? Infinity));
  }
  const delivered = new Map<string, readonly LogEntry[] | string>();
  for (const [scheduleId, fromDate] of [...since].slice(0, MOST_SCHEDULES)) {
    delivered.set(scheduleId, await actions.readLog(account, { scheduleId, state: 'DELIVERED', fromDate }, signal));
  }
  return (scheduleId, createdAt) => {
    const found = delivered.get(scheduleId);
    if (found === undefined) return 'a later run reads the log of its schedule';
    if (typeof found === 'string') return 'the log of its schedule cannot be read';
    return found.some(({ time }) => time > createdAt) ? 'its schedule has delivered a later message' : undefined;
  };
}
